// Errors as RFC 9457 wants them in a response's body: a JSON object with a stable code, the reason and the next step.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

inline constexpr std::string_view kProblemType = "application/problem+json";

std::string problem_to_json(int status, const Error& error);
/// The same problem, with the id of the request that it answers.
std::string problem_with_request(std::string_view problem, std::string_view id);
/// What a response without success says. Whatever its body is, there is something to tell.
Error error_from_problem(int status, std::string_view body);

}  // namespace drover
