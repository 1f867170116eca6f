// What the ring's file holds, and its text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keys/key.h"
#include "keys/secret_text.h"

namespace drover {

/// A join token as the server remembers it.
struct StoredJoinToken {
  std::string secret_sha256;  // hex; the secret itself is nowhere
  std::uint64_t uses_left = 0;
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
  std::string fleet;                          // of the keys it gives; may be empty
  std::string worker;                         // for whom alone it is good; may be empty
  std::map<std::string, std::string> joined;  // nonce → the id of the key it was given
};

struct Ring {
  SecretText server_secret;  // hex; job keys are derived from it
  std::map<std::string, Key, std::less<>> keys;
  std::map<std::string, StoredJoinToken, std::less<>> join_tokens;
};

SecretText ring_to_json(const Ring& ring);

/// `damaged` for what is no ring, `newer_schema` for one that a later version wrote; `path` is for the message.
Result<Ring> ring_from_json(std::string_view text, const std::string& path);

}  // namespace drover
