// What can go wrong with an image. A closed list, because a scheduler decides by it: whether to try again, elsewhere,
// or never.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/image_reference.h"

namespace drover {

enum class ImageFault : std::uint8_t {
  missing,             // there is no such image, tag or file
  unauthorized,        // the registry wants a login, or another one
  unreachable,         // the registry does not answer, or not as one
  timed_out,           // it answered, and then nothing came for too long
  bad_digest,          // what came is not what was asked for
  wrong_architecture,  // there is none for this kind of machine
  no_space,            // the store is full, or cannot be written
  too_large,           // beyond the limits on bytes, files or names
  corrupt,             // cannot be unpacked as it is, or leads out of its own root
  unsupported,         // is no container image, or needs a program that is not here
  cancelled,           // whoever wanted it does no more
};
std::string_view to_string(ImageFault fault);

/// Who could do something about it: whoever named the image, whoever runs the machine, or nobody but time.
enum class Blame : std::uint8_t { user, machine, nobody };
std::string_view to_string(Blame blame);
/// Unless said otherwise where it happened.
Blame usual_blame(ImageFault fault);

struct ImageError {
  ImageFault fault = ImageFault::corrupt;
  Blame blame = Blame::user;
  std::string message;  // the image, and the reason
  std::string next;     // what to do about it
  enum class Disk : std::uint8_t { as_it_is, is_full };
  Disk disk = Disk::as_it_is;       // is_full: with more room there it might go well
  std::int64_t retry_after_ms = 0;  // the registry asked not to be called before; 0: it did not

  /// "message: next", as it stands in a job's reason.
  std::string sentence() const;
  /// For a caller that reacts to the code of a request.
  Error error() const;
};

template <class T>
using ImageResult = std::expected<T, ImageError>;

std::unexpected<ImageError> image_fail(ImageFault fault, std::string message, std::string next = {});
/// A file of the store could not be written or read: errno, and which.
ImageError image_errno(int error_number, std::string_view what);

template <class T>
std::unexpected<ImageError> pass(ImageResult<T>& result) {
  return std::unexpected(std::move(result.error()));
}

/// Puts the image's name before the reason.
ImageError about(const ImageReference& reference, ImageError error);

}  // namespace drover
