// From a reference to the manifest that is meant, and to the bytes it names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "ports/descriptor.h"
#include "run/image/image_error.h"
#include "run/image/image_limits.h"
#include "run/image/manifest.h"

namespace drover {

/// Where an image's documents and blobs come from.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  /// What the reference names: a manifest or an index, byte for byte.
  virtual ImageResult<std::string> top() = 0;
  /// Another one of the same image, by its digest; checked by the caller.
  virtual ImageResult<std::string> manifest(const std::string& digest) = 0;
  /// The configuration of the manifest with this digest; checked by the caller.
  virtual ImageResult<std::string> config(const std::string& manifest_digest, const Blob& config) = 0;
  /// Makes all layers but `known` ready to be read; they say that they are so many `bytes`. `fetched` hears how many
  /// are here.
  virtual ImageResult<void> fetch(const std::string& manifest_digest, const std::vector<Blob>& known,
                                  std::uint64_t bytes, const std::function<void(std::uint64_t)>& fetched) = 0;
  virtual ImageResult<Descriptor> blob(const std::string& digest) = 0;
  /// Its bytes are no longer needed.
  virtual void release(const std::string& digest) = 0;
};

/// For anything but a root folder. `folder` is the caller's own, empty, and goes after the source.
std::unique_ptr<ImageSource> open_source(const ImageReference& reference, const ImageAccess& access,
                                         const ImageLimits& limits, const std::string& folder,
                                         const std::stop_token& stop);

/// What a reference stands for right now.
struct ResolvedImage {
  ImageReference pinned;            // names the same from now on, on every architecture
  std::string digest;               // of what was named: of the index, where there is one
  std::vector<Platform> platforms;  // of an index; empty where only the configuration would tell
  std::string manifest_digest;      // for this machine; empty if there is none
  std::string manifest;             // its bytes
};

/// Asks `source`, and checks what it says against the digests.
ImageResult<ResolvedImage> resolve_with(ImageSource& source, const ImageReference& reference, const Platform& machine);

/// A tag to a digest, at submit. A root folder is its own path, made absolute. Nothing is fetched but manifests; from a
/// Docker daemon there is no other way than to copy the image.
ImageResult<ResolvedImage> resolve(const ImageReference& reference, const ImageAccess& access,
                                   const ImageLimits& limits, const std::stop_token& stop = {});

/// The folder that `rootfs:PATH` names, without links on the way; it must be there.
ImageResult<std::string> root_folder(const ImageReference& reference);

}  // namespace drover
