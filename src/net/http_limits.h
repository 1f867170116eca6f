// How much of the server one peer may use up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/holder.h"

namespace drover {

struct HttpLimits {
  std::size_t header_bytes = std::size_t{32} << 10;
  std::int64_t header_ms = 10'000;    // from the first byte of a head to its last; also for a TLS handshake
  std::int64_t progress_ms = 30'000;  // within a body, or in taking a reply, without a single byte
  std::int64_t idle_ms = 75'000;      // between two requests
  std::size_t connections = 16'000;  // what comes beyond takes the place of one that never asked anything, or is closed

  /// Of the connections, how many one holder (HttpPlan::holder) may have, and how many are kept for those who may
  /// use the reserve.
  HolderCounts::Limits for_holders() const {
    constexpr std::size_t kLeast = 16;
    constexpr std::size_t kMost = 512;
    return {.total = connections, .each = std::clamp(connections / 8, kLeast, kMost), .reserved = connections / 4};
  }
};

}  // namespace drover
