#include "wire/session_credentials.h"

#include "base/text.h"
#include "wire/digest.h"

namespace drover {

std::string session_key_id(std::string_view session_token) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  constexpr std::size_t kLength = 16;
  std::string id = "ASDR";
  for (const char c : sha256(session_token).substr(0, kLength)) {
    id += kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  }
  return id;
}

SessionCredentials attempt_credentials(std::string_view attempts_key, Token token, AttemptNumber attempt) {
  constexpr std::size_t kSecretLength = 40;
  const std::size_t dot = attempts_key.rfind('.');
  const std::string_view claim = attempts_key.substr(0, dot);
  const std::string_view secret = dot == std::string_view::npos ? "" : attempts_key.substr(dot + 1);
  const std::string which = concat(token.grant.value, ".", token.item.value, ".", attempt.value);
  SessionCredentials out;
  out.session_token = concat(claim, ".", which, ".", base64url(hmac_sha256(secret, concat("token\n", which))));
  out.key_id = session_key_id(out.session_token);
  out.secret = base64url(hmac_sha256(secret, concat("secret\n", which))).substr(0, kSecretLength);
  return out;
}

}  // namespace drover
