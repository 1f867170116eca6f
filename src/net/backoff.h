// How long to wait before asking again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.h"

namespace drover {

/// Waits that double from 100 ms to 10 s, each shortened by up to half by chance, so that many who failed together do
/// not come back together.
class Backoff {
 public:
  explicit Backoff(std::uint64_t seed) : random_(seed) {}

  /// In milliseconds. Never less than what the server asked for.
  std::int64_t next_ms(std::int64_t asked_for_ms) {
    const std::int64_t wait =
        longest_ms_ - static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(longest_ms_ / 2)));
    longest_ms_ = std::min<std::int64_t>(longest_ms_ * 2, 10'000);
    return std::max(wait, asked_for_ms);
  }

 private:
  Random random_;
  std::int64_t longest_ms_ = 100;
};

}  // namespace drover
