#include "api/problem.h"

#include "wire/problem_json.h"

namespace drover {

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_input: return 400;
    case ErrorCode::denied: return 403;
    case ErrorCode::bad_method: return 405;
    case ErrorCode::not_found: return 404;
    case ErrorCode::conflict:
    case ErrorCode::in_use: return 409;
    case ErrorCode::no_space: return 507;
    case ErrorCode::stopped:
    case ErrorCode::unreachable: return 503;
    case ErrorCode::timeout: return 504;
    case ErrorCode::read_only:
    case ErrorCode::damaged:
    case ErrorCode::newer_schema:
    case ErrorCode::io: return 500;
  }
  return 500;
}

HttpResponse problem(int status, const Error& error) {
  return {.status = status,
          .headers = {{"Content-Type", std::string(kProblemType)}},
          .body = problem_to_json(status, error)};
}

HttpResponse problem(const Error& error) {
  return problem(http_status(error.code), error);
}

}  // namespace drover
