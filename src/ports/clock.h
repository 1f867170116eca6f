// Two clocks that must not be mixed up: what the wall says, which may jump, and what only moves forward.
#pragma once

#include <cstdint>

namespace drover {

class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual std::int64_t epoch_ms() = 0;
};

class SteadyClock {
 public:
  virtual ~SteadyClock() = default;
  virtual std::int64_t elapsed_ns() = 0;
};

}  // namespace drover
