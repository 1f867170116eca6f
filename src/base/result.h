// Operating errors are values: Result<T> holds a T or an Error that names the thing, the reason and the next step.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

/// What a caller would react to. The message is for people; this is for code.
enum class ErrorCode {
  bad_input,     // the user's request cannot be right
  bad_method,    // there is such a thing, but not that can be done with it
  not_found,     // no such run, item, file
  in_use,        // somebody else holds it
  conflict,      // it changed under the caller; read again
  no_space,      // the disk is full
  read_only,     // the folder or file cannot be written
  damaged,       // stored data cannot be read back
  newer_schema,  // written by a later version
  io,            // any other trouble with files, sockets, processes
  stopped,       // the machinery was stopped by an earlier error
  denied,        // who asks may not do that
  unreachable,   // nobody answers there
  timeout,       // no answer in time
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::io;
  std::string message;  // the thing and the reason
  std::string next;     // what to do about it; may be empty
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string next = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(next)});
}

/// Passes an error on: `if (!r) return pass(r);`
template <class T>
std::unexpected<Error> pass(Result<T>& result) {
  return std::unexpected(std::move(result.error()));
}

/// "what: reason" from an errno, with the code that fits it.
Error errno_error(int error_number, std::string_view what, std::string next = {});

}  // namespace drover
