// Asking others by HTTP. net/ has the adapter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/http.h"

namespace drover {

struct HttpCall {
  std::string method = "GET";
  std::string path;  // and query, behind the client's base address
  std::vector<HttpHeader> headers;
  std::string body;
  /// Gives the body piece by piece instead; an empty piece is the end. Such a call is made once, never repeated.
  std::function<Result<std::string>()> body_source;
  /// Takes the response's body as it comes, if its status is 2xx.
  std::function<Result<void>(std::string_view)> take;
  int take_status = 0;                // the only status whose body is taken; 0: any of 2xx
  std::int64_t stall_ms = 0;          // it fails when no byte has come or gone for this long; 0: no limit
  std::int64_t deadline_ms = 30'000;  // for all of it, repetitions too; 0: none
  /// A call that may be made twice is repeated after a failure of the network, 429, 502, 503 and 504, with waits that
  /// grow, until its deadline.
  bool may_repeat = false;
};

/// One server, spoken to by one thread at a time; connections are kept.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// Any status is an answer. An error means there was none: `unreachable` if nobody was there, `timeout`, `io`.
  virtual Result<HttpResponse> call(const HttpCall& call) = 0;
  /// From any thread: what is under way and whatever comes later ends with an error, soon.
  virtual void abort() = 0;
};

}  // namespace drover
