// Which image is meant: a name in a registry, or where else it lies. Docker's rules for names, and skopeo's words for
// places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// `python:3.12`, `host:5000/team/tool@sha256:…`, `oci:PATH[:TAG]`, `docker-archive:PATH[:NAME:TAG]`,
/// `docker-daemon:NAME[:TAG]`, `rootfs:PATH`. Anything but a root folder may end in `@sha256:…`: that image, or none.
struct ImageReference {
  enum class Source : std::uint8_t { registry, oci_layout, docker_archive, docker_daemon, root_folder };

  Source source = Source::registry;
  std::string host;    // of a registry, and of a name that a daemon or an archive knows: docker.io where none was said
  std::string name;    // library/python; empty in a layout, a folder, or an archive of one image
  std::string path;    // of a layout, an archive, a folder
  std::string tag;     // empty only beside a digest, or where the place holds one image
  std::string digest;  // sha256:…, or empty

  static Result<ImageReference> parse(std::string_view text);

  /// The whole of it, with what was left out. Parses back to the same.
  std::string text() const;
  /// The same image from now on, wherever its tag goes. `of` is a digest.
  ImageReference pinned(std::string of) const;
  bool is_pinned() const { return !digest.empty(); }
  /// Whether it lies in a file or folder of the machine that is asked for it.
  bool is_local_path() const { return !path.empty(); }

  bool operator==(const ImageReference&) const = default;
};

/// sha256 and sixty-four small hexadecimal digits.
bool is_image_digest(std::string_view text);

}  // namespace drover
