// What an image consists of: manifests, indexes of several architectures, and configurations, as OCI and Docker write
// them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "run/image/image_error.h"

namespace drover {

/// One blob by its digest.
struct Blob {
  std::string digest;
  std::uint64_t bytes = 0;
  std::string media_type;
};

struct Platform {
  std::string os;
  std::string architecture;  // as Go names it: amd64, arm64
  std::string variant;       // v8; mostly empty

  std::string text() const;
};

/// The one that this program runs on.
Platform this_platform();

struct IndexEntry {
  Blob manifest;
  Platform platform;
  std::string name;  // the annotation that a layout has for a tag

  /// Not what a builder says of one (an attestation), which stands beside it.
  bool is_image() const { return platform.architecture != "unknown"; }
};

/// Several manifests: one image for several architectures, or the images of a layout.
struct ImageIndex {
  std::vector<IndexEntry> entries;

  /// The architectures there are, for people.
  std::string platforms() const;
};

struct ImageManifest {
  Blob config;
  std::vector<Blob> layers;  // the lowest first

  std::uint64_t compressed_bytes() const;
};

/// What the image wants to be run with.
struct ImageConfig {
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE, in their order
  std::string user;                      // USER[:GROUP], names or numbers
  std::string working_folder;
  std::vector<std::string> exposed_ports;  // 80/tcp
  std::vector<std::string> volumes;
  std::map<std::string, std::string> labels;
  std::string stop_signal;
  Platform platform;
  std::vector<std::string> diff_ids;  // the digest of each layer, unpacked
};

/// A manifest and an index are told apart by what they say, not by what a server says of them.
bool is_index(std::string_view json);
ImageResult<ImageIndex> index_from_json(std::string_view json);
ImageResult<ImageManifest> manifest_from_json(std::string_view json);
ImageResult<ImageConfig> config_from_json(std::string_view json);

/// The entry for a machine of that kind.
ImageResult<IndexEntry> choose(const ImageIndex& index, const Platform& machine);
/// Whether an image of that kind runs there. One that does not say is taken at its word.
ImageResult<void> check_platform(const Platform& image, const Platform& machine);

}  // namespace drover
