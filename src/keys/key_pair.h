// Key pairs with which people log in over SSH, in the forms of OpenSSH.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keys/secret_text.h"

namespace drover {

enum class KeyPairType : std::uint8_t { rsa, ed25519 };

struct PublicKey {
  KeyPairType type = KeyPairType::rsa;
  std::string text;         // "ssh-ed25519 AAAA…", without a comment
  std::string fingerprint;  // as EC2 computes it for a key that was imported
};

struct KeyPair {
  PublicKey public_key;
  SecretText private_pem;
  std::string fingerprint;  // as EC2 computes it for a key that it has made
};

/// RSA has 2048 bits.
Result<KeyPair> make_key_pair(KeyPairType type);

/// From a line such as "ssh-rsa AAAA… comment", as in authorized_keys.
Result<PublicKey> read_public_key(std::string_view line);

}  // namespace drover
