// A folder in OCI's image layout: blobs by their digests, and an index of the images they make. Made by skopeo for us,
// or by somebody else: then it is read where it lies, and no blob is believed.
#pragma once

#include <string>

#include "ports/descriptor.h"
#include "run/image/image_error.h"

namespace drover {

class OciLayout {
 public:
  explicit OciLayout(std::string folder) : folder_(std::move(folder)) {}

  /// Whether there is one.
  ImageResult<void> check() const;
  /// index.json, as it is.
  ImageResult<std::string> index() const;
  /// Open for reading; only a plain file is one.
  ImageResult<Descriptor> blob(const std::string& digest) const;
  /// A small one, whole and checked: a manifest, an index, a configuration.
  ImageResult<std::string> document(const std::string& digest) const;
  std::string blob_path(const std::string& digest) const;

 private:
  std::string folder_;
};

}  // namespace drover
