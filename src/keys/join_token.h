// A join token: one text that a person pastes on a machine to make it a worker. It says where the server is, how to
// know it for the right one, and carries a secret that is worth a key of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "keys/secret_text.h"

namespace drover {

struct JoinToken {
  std::vector<std::string> addresses;  // of the server, in the order to try them
  std::string ca_fingerprint;          // as fingerprint() gives it; empty: the server speaks plain HTTP
  SecretText secret;                   // "ID.SECRET": what is sent to the server, once it is known to be the right one
};

/// "drover-join-…".
SecretText join_token_text(const JoinToken& token);

/// `bad_input` for what is none, or not all of one. Spaces around it do not matter.
Result<JoinToken> parse_join_token(std::string_view text);

}  // namespace drover
