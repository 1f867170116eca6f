// Credentials with which AWS's clients sign for a while: an access key, its secret, and the session token that says
// whose they are. The server stores none: it derives the secret again from the token.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/words.h"

namespace drover {

/// The server serves one region, whatever it is called; every client knows this one.
inline constexpr const char* kAwsRegion = "us-east-1";

struct SessionCredentials {
  std::string key_id;
  std::string secret;
  std::string session_token;
};

/// The access key that belongs to a session token: "ASDR" and 16 of A-Z2-7.
std::string session_key_id(std::string_view session_token);

/// Those of one attempt. A worker has a key for all attempts of a job, "CLAIM.SECRET"; no attempt can learn it from
/// what it gets, nor the credentials of another.
SessionCredentials attempt_credentials(std::string_view attempts_key, Token token, AttemptNumber attempt);

}  // namespace drover
