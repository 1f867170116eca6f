// The core's time: epoch milliseconds that never go back, whatever the wall clock does.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ports/clock.h"

namespace drover {

class Timeline {
 public:
  /// Starts at the larger of the wall clock and `at_least_ms` (the largest time ever stored), then follows the steady
  /// clock.
  Timeline(WallClock& wall, SteadyClock& steady, std::int64_t at_least_ms)
      : steady_(steady), start_ms_(std::max(wall.epoch_ms(), at_least_ms)), start_ns_(steady.elapsed_ns()) {}

  std::int64_t now_ms() const { return start_ms_ + (steady_.elapsed_ns() - start_ns_) / 1'000'000; }

 private:
  SteadyClock& steady_;
  std::int64_t start_ms_;
  std::int64_t start_ns_;
};

}  // namespace drover
