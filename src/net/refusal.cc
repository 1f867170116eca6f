#include "net/refusal.h"

#include "net/response_head.h"
#include "wire/problem_json.h"

namespace drover {
namespace {

Error reason(int status) {
  switch (status) {
    case 400: return {ErrorCode::bad_input, "the request is not HTTP/1.1, or could be read in two ways", {}};
    case 408: return {ErrorCode::timeout, "the request did not come in time", "send it again, faster"};
    case 413: return {ErrorCode::bad_input, "the request's body is longer than this call takes", {}};
    case 417: return {ErrorCode::bad_input, "of 'Expect' only 100-continue is understood", "leave it out"};
    case 431: return {ErrorCode::bad_input, "the request's head is too long", "send fewer or shorter header fields"};
    case 501:
      return {ErrorCode::bad_input, "CONNECT, and bodies encoded in another way than chunked, are not for this server",
              "send the body as it is, with its Content-Length"};
    case 505: return {ErrorCode::bad_input, "this server speaks HTTP/1.1", {}};
    default: return {ErrorCode::io, std::string(reason_phrase(status)), {}};
  }
}

HttpResponse problem(int status, const Error& error) {
  return {.status = status,
          .headers = {{"Content-Type", "application/problem+json"}},
          .body = problem_to_json(status, error)};
}

}  // namespace

HttpResponse refusal(int status) {
  return problem(status, reason(status));
}

HttpResponse refusal_of_plain_http() {
  return problem(400, {ErrorCode::bad_input, "this port speaks TLS, and the request came in plain",
                       "ask again with https:// instead of http://"});
}

}  // namespace drover
