// What finds out which image a tag means.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace drover {

class ImageResolver {
 public:
  /// The digest of what the image is right now; an error: why that is not known here, in few words.
  using Resolved = std::function<void(Result<std::string>)>;

  virtual ~ImageResolver() = default;
  /// Answered within some seconds, on another thread, or at once if there is too much to do.
  virtual void resolve(const std::string& image, Resolved resolved) = 0;
  /// Nobody is answered any more but on the spot: that it has stopped.
  virtual void stop() = 0;
};

}  // namespace drover
