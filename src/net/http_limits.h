// How much of the server one peer may use up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

struct HttpLimits {
  std::size_t header_bytes = std::size_t{32} << 10;
  std::int64_t header_ms = 10'000;    // from the first byte of a head to its last; also for a TLS handshake
  std::int64_t progress_ms = 30'000;  // within a body, or in taking a reply, without a single byte
  std::int64_t idle_ms = 75'000;      // between two requests
  std::size_t connections = 16'000;  // what comes beyond takes the place of one that never asked anything, or is closed
};

}  // namespace drover
