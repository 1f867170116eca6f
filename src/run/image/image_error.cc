#include "run/image/image_error.h"

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace drover {

std::string_view to_string(ImageFault fault) {
  switch (fault) {
    case ImageFault::missing: return "missing";
    case ImageFault::unauthorized: return "unauthorized";
    case ImageFault::unreachable: return "unreachable";
    case ImageFault::timed_out: return "timed_out";
    case ImageFault::bad_digest: return "bad_digest";
    case ImageFault::wrong_architecture: return "wrong_architecture";
    case ImageFault::no_space: return "no_space";
    case ImageFault::too_large: return "too_large";
    case ImageFault::corrupt: return "corrupt";
    case ImageFault::unsupported: return "unsupported";
    case ImageFault::cancelled: return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(Blame blame) {
  switch (blame) {
    case Blame::user: return "user";
    case Blame::machine: return "machine";
    case Blame::nobody: return "nobody";
  }
  return "unknown";
}

Blame usual_blame(ImageFault fault) {
  switch (fault) {
    case ImageFault::missing:
    case ImageFault::unauthorized:
    case ImageFault::wrong_architecture:
    case ImageFault::too_large:
    case ImageFault::corrupt:
    case ImageFault::unsupported: return Blame::user;
    case ImageFault::no_space: return Blame::machine;
    case ImageFault::unreachable:
    case ImageFault::timed_out:
    case ImageFault::bad_digest:
    case ImageFault::cancelled: return Blame::nobody;
  }
  return Blame::nobody;
}

namespace {

ErrorCode code_of(ImageFault fault) {
  switch (fault) {
    case ImageFault::missing: return ErrorCode::not_found;
    case ImageFault::unauthorized: return ErrorCode::denied;
    case ImageFault::unreachable: return ErrorCode::unreachable;
    case ImageFault::timed_out: return ErrorCode::timeout;
    case ImageFault::no_space: return ErrorCode::no_space;
    case ImageFault::bad_digest:
    case ImageFault::corrupt: return ErrorCode::damaged;
    case ImageFault::wrong_architecture:
    case ImageFault::too_large:
    case ImageFault::unsupported: return ErrorCode::bad_input;
    case ImageFault::cancelled: return ErrorCode::stopped;
  }
  return ErrorCode::io;
}

}  // namespace

std::string ImageError::sentence() const {
  return next.empty() ? message : concat(message, ": ", next);
}

Error ImageError::error() const {
  return {code_of(fault), message, next};
}

std::unexpected<ImageError> image_fail(ImageFault fault, std::string message, std::string next) {
  return std::unexpected(ImageError{fault, usual_blame(fault), std::move(message), std::move(next)});
}

ImageError image_errno(int error_number, std::string_view what) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT;
  return {ImageFault::no_space, Blame::machine,
          concat(what, ": ", full ? "the disk is full" : std::strerror(error_number)),
          full ? "free some disk space, or run 'drover image prune'" : "check that the image store is writable",
          full ? ImageError::Disk::is_full : ImageError::Disk::as_it_is};
}

ImageError about(const ImageReference& reference, ImageError error) {
  error.message = concat("image ", reference.text(), ": ", error.message);
  // No line is to blame for a file that is not what it was: nobody but its owner can mend it.
  if (error.fault == ImageFault::bad_digest && reference.is_local_path()) error.blame = Blame::user;
  return error;
}

}  // namespace drover
