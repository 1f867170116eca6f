// The machine's own clocks.
#pragma once

#include <chrono>

#include "ports/clock.h"

namespace drover {

class SystemWallClock : public WallClock {
 public:
  std::int64_t epoch_ms() override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

class SystemSteadyClock : public SteadyClock {
 public:
  std::int64_t elapsed_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace drover
