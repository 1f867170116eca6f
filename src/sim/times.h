// Simulated times, in milliseconds.
#pragma once

#include <cstdint>

namespace drover::sim {

inline constexpr std::int64_t kSecond = 1000;
inline constexpr std::int64_t kMinute = 60 * kSecond;
inline constexpr std::int64_t kHour = 60 * kMinute;

}  // namespace drover::sim
