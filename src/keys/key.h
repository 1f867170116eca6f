// A key: what a person, a program or a worker shows to be let in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "keys/bucket_grant.h"
#include "keys/scope.h"
#include "keys/secret_text.h"

namespace drover {

/// All of a key that may be shown.
struct KeyInfo {
  std::string id;  // "AKDR" and 16 of A-Z2-7: what an AWS access key id looks like
  Scope scope = Scope::read;
  std::string label;  // for people; a worker's is its name
  std::int64_t created_ms = 0;
  std::optional<std::int64_t> expires_ms;
  std::string fleet;   // of a worker's key; may be empty
  std::string worker;  // the only worker that may use it, by name: the one that joined for it; empty: any
  std::optional<BucketGrant> grant = {};  // of a key with scope `bucket`, and of no other
  std::int64_t used_ms = 0;               // of a joined worker's, to the day: when it was last used

  bool operator==(const KeyInfo&) const = default;
};

struct Key {
  KeyInfo info;
  SecretText secret;  // 40 letters and digits

  /// "ID.SECRET": what is sent with each request.
  SecretText bearer() const { return SecretText(info.id + "." + secret.reveal()); }
};

}  // namespace drover
