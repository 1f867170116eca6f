// Whom a request comes from: by the key that it shows, or by the signature that an AWS client made with one.
#pragma once

#include <cstdint>
#include <functional>

#include "api/identity.h"
#include "keys/key_ring.h"
#include "wire/aws/signing_key.h"

namespace drover {

/// Both outlive it.
Identify identify_by_key(const KeyRing& keys, aws::SigningKeyCache& signing_keys, std::function<std::int64_t()> now_ms);

}  // namespace drover
