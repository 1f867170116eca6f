// Credentials that are valid for a while: an attempt's, and those of somebody who has assumed a role or asked for a
// session. They are derived, never stored: the session token says whose it is, through whom it was given and until
// when, and a MAC says that the server wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "keys/signer.h"
#include "wire/session_credentials.h"

namespace drover {

/// With which a worker makes the credentials of a job's attempts. `giver` is the id of the worker's own key.
SecretText make_attempts_key(const SecretText& server_secret, const Uuid& job, std::string_view giver,
                             std::int64_t expires_ms);

struct AwsSession {
  std::string giver;                  // the id of the key with which it was asked for
  std::string role;                   // that was assumed; empty: what the key may do
  std::string role_id = {};           // another role of the same name has another
  std::string name;                   // of the role's session
  std::optional<Uuid> job = {};       // whose attempt asked for it: it ends with that
  std::optional<Token> attempt = {};  // with `job`
  std::int64_t expires_ms = 0;
};

SessionCredentials make_session(const SecretText& server_secret, const AwsSession& session);

/// The caller has the giver's key id; the key ring checks that this key is still valid. A session without a role may do
/// what that key may.
FoundSigner check_session(const SecretText& server_secret, std::string_view key_id, std::string_view session_token,
                          std::int64_t now_ms);

}  // namespace drover
