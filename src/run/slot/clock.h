// Time, in numbers.
#pragma once

#include <time.h>

#include <cstdint>

namespace drover::slot {

inline std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

inline std::int64_t steady_ms() {
  return clock_us(CLOCK_MONOTONIC) / 1'000;
}

}  // namespace drover::slot
