#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace drover {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_input: return "bad_input";
    case ErrorCode::bad_method: return "bad_method";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::in_use: return "in_use";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::no_space: return "no_space";
    case ErrorCode::read_only: return "read_only";
    case ErrorCode::damaged: return "damaged";
    case ErrorCode::newer_schema: return "newer_schema";
    case ErrorCode::io: return "io";
    case ErrorCode::stopped: return "stopped";
    case ErrorCode::denied: return "denied";
    case ErrorCode::unreachable: return "unreachable";
    case ErrorCode::timeout: return "timeout";
  }
  return "unknown";
}

Error errno_error(int error_number, std::string_view what, std::string next) {
  ErrorCode code = ErrorCode::io;
  switch (error_number) {
    case ENOENT: code = ErrorCode::not_found; break;
    case ENOSPC:
    case EDQUOT: code = ErrorCode::no_space; break;
    case EROFS:
    case EACCES:
    case EPERM: code = ErrorCode::read_only; break;
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ELOOP:
    case ENAMETOOLONG: code = ErrorCode::bad_input; break;
    default: break;
  }
  const char* reason = code == ErrorCode::no_space ? "the disk is full" : std::strerror(error_number);
  return Error{code, std::string(what) + ": " + reason, std::move(next)};
}

}  // namespace drover
