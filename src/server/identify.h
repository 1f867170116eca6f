// Whom a request comes from, by the key that it shows.
#pragma once

#include <cstdint>
#include <functional>

#include "api/identity.h"
#include "keys/key_ring.h"

namespace drover {

/// The ring outlives it.
Identify identify_by_key(const KeyRing& keys, std::function<std::int64_t()> now_ms);

}  // namespace drover
