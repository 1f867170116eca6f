// Who signs a request, as it claims, and with which secret that is verified.
#pragma once

#include <expected>
#include <string>

#include "keys/caller.h"
#include "keys/secret_text.h"

namespace drover {

struct Signer {
  Caller caller;
  SecretText secret;
};

/// Why nobody is known who could have signed it.
struct NoSigner {
  bool has_expired = false;  // else there was never such a key
  std::string message;
};

using FoundSigner = std::expected<Signer, NoSigner>;

}  // namespace drover
