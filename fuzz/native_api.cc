// A whole request to the API, "METHOD PATH?QUERY\nBODY": it is answered once, and errors are problems.
#include "api/native/native.h"

#include "fake_server.h"
#include "fuzzed.h"

namespace drover {
namespace {

HttpRequest request_of(std::string_view bytes) {
  HttpRequest request;
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::string_view line = bytes.substr(0, end);
  const std::size_t space = std::min(line.find(' '), line.size());
  request.head.method = line.substr(0, space);
  line.remove_prefix(std::min(space + 1, line.size()));
  const std::size_t mark = std::min(line.find('?'), line.size());
  request.head.path = "/api/v1/" + std::string(line.substr(0, mark));
  request.head.query = line.substr(std::min(mark + 1, line.size()));
  request.body = bytes.substr(std::min(end + 1, bytes.size()));
  return request;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  FakeBackend backend;
  MessageExchange messages(backend);
  NativeApi api(backend, messages, {.version = "1", .now_ms = [] { return 0; }});
  HttpRequest request = request_of(bytes);
  auto call = api.resolve(request.head);
  const auto exchange = std::make_shared<FakeExchange>();
  if (!call || call->refusal) {
    exchange->send(call ? std::move(*call->refusal) : std::move(call.error()));
  } else {
    if (request.body.size() > call->most_bytes) request.body.clear();
    if (call->sink && call->sink->take(request.body)) static_cast<void>(call->sink->finish());
    request.sink = std::move(call->sink);
    call->handle(std::move(request), HttpReply(exchange),
                 {.caller = {.scope = Scope::admin, .key_id = "key", .label = "label"}});
  }
  DROVER_CHECK(exchange->answer.has_value(), "every request is answered");
  const HttpResponse& answer = *exchange->answer;
  const std::string* type = answer.header("content-type");
  DROVER_CHECK(type != nullptr, "an answer says what it is");
  DROVER_CHECK(answer.status < 500 && (answer.status < 400 || *type == "application/problem+json"),
               "a refusal is a problem, and nobody's fault but the peer's");
}

}  // namespace drover
