// Asking skopeo for manifests, configurations and blobs.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <stop_token>
#include <string>

#include "run/image/image_error.h"
#include "run/image/image_limits.h"

namespace drover {

/// One image that skopeo knows how to reach.
class Skopeo {
 public:
  /// `folder` is the caller's own, for what skopeo writes on the way.
  Skopeo(ImageReference reference, ImageAccess access, std::int64_t stall_ms, std::string folder, std::stop_token stop);

  /// The manifest or index, byte for byte. Of `digest` if that is not empty.
  ImageResult<std::string> manifest(const std::string& digest) const;
  /// The images of an archive, NAME:TAG each.
  ImageResult<std::vector<std::string>> names() const;
  /// The configuration, byte for byte.
  ImageResult<std::string> config(const std::string& digest) const;
  /// All blobs into the OCI layout `folder`/layout, but for those that are there already. `bytes` is what they say that
  /// they are. `fetched` hears how many bytes there are by now, not counting `known`.
  ImageResult<void> copy(const std::string& digest, const std::set<std::string>& known, std::uint64_t bytes,
                         const std::function<void(std::uint64_t)>& fetched) const;
  /// From a Docker daemon, whole, into the archive `folder`/archive.tar.
  ImageResult<void> save(const std::function<void(std::uint64_t)>& fetched) const;

 private:
  std::string source(const std::string& digest) const;
  std::vector<std::string> words(const std::vector<std::string>& verb, bool copying) const;
  ImageResult<std::string> run(const std::vector<std::string>& words, const std::function<std::uint64_t()>& headway,
                               std::uint64_t most = UINT64_MAX) const;

  ImageReference reference_;
  ImageAccess access_;
  std::int64_t stall_ms_;
  std::string folder_;
  std::stop_token stop_;
};

/// The registry is this machine itself: nobody is in between who could be lied to.
bool is_loopback(std::string_view host);

}  // namespace drover
