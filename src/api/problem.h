// Errors as RFC 9457 wants them: a JSON object with a stable code, the thing, the reason and the next step.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/http.h"

namespace drover {

/// What a code stands for, for people.
struct ErrorMeaning {
  ErrorCode code;
  int status;
  std::string_view meaning;
  std::string_view next;
};
/// All of them, in the order in which docs/errors.md has them.
std::span<const ErrorMeaning> error_meanings();
/// The status that fits the code.
int http_status(ErrorCode code);
HttpResponse problem(const Error& error);
/// A limit of one key, or of all, is reached: 429, to be sent again a little later.
HttpResponse too_many(const Error& error);
/// The same, for a status that no code of ours stands for.
HttpResponse problem(int status, const Error& error);
/// There is such a path, but not for this method; `allowed` are those it is for, as the header says it.
HttpResponse bad_method(const HttpHead& head, const std::string& allowed);

}  // namespace drover
