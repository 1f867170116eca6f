// Keys over HTTP: made, listed, deleted; and a machine that joins with a token.
//
//   POST   /api/v1/keys        {"scope", "label", "expires", "fleet", "worker"} → a key, its secret shown once
//                              {"bucket", "prefix", "access", "label", "expires"} → a key for objects of one bucket
//   GET    /api/v1/keys        keys and join tokens, without secrets
//   DELETE /api/v1/keys/ID
//   POST   /api/v1/join-tokens {"uses", "expires", "fleet"} → a join token, shown once
//   POST   /join               {"secret", "nonce", "name"} → a worker's key; the token's secret is all it takes
//   GET    /ca.pem             the authority that signed the server's certificate; for everybody
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/native/native.h"
#include "api/service.h"
#include "keys/key_ring.h"
#include "ports/backend.h"
#include "ports/http.h"

namespace drover {

class KeyCalls : public Service {
 public:
  /// How workers reach the server, and how they know it.
  struct Identity {
    std::vector<std::string> addresses;
    std::string ca_pem;  // empty: plain HTTP
  };

  KeyCalls(KeyRing& ring, Backend& backend, std::function<std::int64_t()> now_ms)
      : ring_(ring), backend_(backend), now_ms_(std::move(now_ms)) {}

  using Removed = std::function<void(const std::string& key_id)>;
  /// Told of each key that was removed, once it is.
  void on_removed(Removed removed) { removed_ = std::move(removed); }
  /// Before the first request.
  void set_identity(Identity identity) { identity_ = std::move(identity); }

  bool owns(const HttpHead& head) const override;
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;
  /// Those below /api/v1/.
  static std::vector<ApiLine> calls();

 private:
  void handle(HttpRequest request, HttpReply reply, const Holder& holder);
  HttpResponse answer(const HttpRequest& request);
  HttpResponse create(const std::string& body);
  HttpResponse create_join_token(const std::string& body);
  HttpResponse list() const;
  HttpResponse join(const std::string& body);

  KeyRing& ring_;
  Backend& backend_;
  const std::function<std::int64_t()> now_ms_;
  Identity identity_;
  Removed removed_ = [](const std::string&) {};
};

}  // namespace drover
