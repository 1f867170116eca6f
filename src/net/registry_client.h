// Asks a registry which image a tag means, as the distribution specification and Docker's token protocol say. It
// connects only where the rules allow: the registry, where it redirects to, and where its tokens come from are each
// checked by the address that is connected to. Nothing that anybody answers is passed on but the digest.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/registry_rules.h"
#include "ports/http.h"
#include "wire/image_reference.h"

namespace drover {

/// Of a `WWW-Authenticate` header, in small letters but for the values.
struct AuthChallenge {
  std::string scheme;  // "bearer", "basic"
  std::string realm;
  std::string service;
  std::string scope;
};
/// Nothing: it is malformed.
std::optional<AuthChallenge> parse_challenge(std::string_view header);

/// "user:password" for that registry, from the text of a config.json as Docker writes it. Nothing: it has none that can
/// be read there, because there was no login or a credential helper keeps it.
std::optional<std::string> login_for(std::string_view config_json, std::string_view host);

class RegistryClient {
 public:
  /// `config_json`: the logins, or nothing. `most_ms`: for all of a lookup.
  RegistryClient(RegistryRules rules, std::string config_json, std::int64_t most_ms)
      : rules_(std::move(rules)), config_json_(std::move(config_json)), most_ms_(most_ms) {}

  /// The digest of the manifest or index that the tag names right now. An error is in few words, for whoever submitted.
  Result<std::string> digest(const ImageReference& image, const std::stop_token& stop) const;

 private:
  class Lookup;

  const RegistryRules rules_;
  const std::string config_json_;
  const std::int64_t most_ms_;
};

}  // namespace drover
