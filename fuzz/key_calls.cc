// What is asked of the keys: a first byte says which call, the rest is its body.
#include "api/keys/key_calls.h"

#include <array>

#include "fake_server.h"
#include "fuzzed.h"

namespace drover {
namespace {

constexpr std::int64_t kNowMs = 1'700'000'000'000;
constexpr std::size_t kMostKeys = 8;  // every change writes all of them
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCalls = {{{"POST", "/join"},
                                                                                  {"POST", "/api/v1/keys"},
                                                                                  {"POST", "/api/v1/join-tokens"},
                                                                                  {"GET", "/api/v1/keys"},
                                                                                  {"DELETE", "/api/v1/keys/"}}};

std::unique_ptr<KeyRing> fresh_ring() {
  const std::string path = own_folder() + "/keys.json";
  static_cast<void>(std::remove(path.c_str()));
  auto opened = KeyRing::open(path, kNowMs);
  DROVER_CHECK(opened.has_value(), "a ring can be made");
  return std::move(*opened);
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  static std::unique_ptr<KeyRing> ring = fresh_ring();
  if (ring->list().size() + ring->join_tokens().size() > kMostKeys) ring = fresh_ring();
  FakeBackend backend;
  KeyCalls calls(*ring, backend, [] { return kNowMs; });
  calls.set_identity({.addresses = {"http://127.0.0.1:1"}, .ca_pem = {}});
  Choices choices(bytes);
  const auto [method, path] = kCalls[choices.below(kCalls.size())];
  HttpRequest request;
  request.head.method = method;
  request.head.path = path;
  if (method == "DELETE") request.head.path += choices.rest();
  request.body = choices.rest();
  const auto exchange = std::make_shared<FakeExchange>();
  DROVER_CHECK(calls.owns(request.head), "it knows its own calls");
  auto call = calls.resolve(request.head);
  DROVER_CHECK(call.has_value(), "they are told apart when they are handled");
  call->handle(std::move(request), HttpReply(exchange), {});
  DROVER_CHECK(exchange->answer && exchange->answer->status < 500, "every call is answered, and breaks nothing");
}

}  // namespace drover
