#include "net/refusal.h"

#include "net/response_head.h"
#include "wire/problem_json.h"

namespace drover {
namespace {

Error reason(int status) {
  switch (status) {
    case 400: return {ErrorCode::bad_input, "the request is not valid HTTP/1.1, or is ambiguous", {}};
    case 408: return {ErrorCode::timeout, "the request was not received in time", "retry, and send it faster"};
    case 413: return {ErrorCode::bad_input, "the request body is longer than this call allows", {}};
    case 417:
      return {ErrorCode::bad_input, "unsupported 'Expect' header: only 100-continue is supported", "omit the header"};
    case 429:
      return {ErrorCode::in_use, "this key, or all keys together, have too many open connections",
              "close unused connections and retry later"};
    case 431: return {ErrorCode::bad_input, "the request header is too long", "send fewer or shorter header fields"};
    case 501:
      return {ErrorCode::bad_input, "CONNECT, and transfer encodings other than chunked, are not supported",
              "send the body unencoded, with a Content-Length"};
    case 505: return {ErrorCode::bad_input, "unsupported HTTP version: this server supports HTTP/1.1", {}};
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
  return problem(400, {ErrorCode::bad_input, "this port requires TLS, but the request was plain HTTP",
                       "use https:// instead of http://"});
}

}  // namespace drover
