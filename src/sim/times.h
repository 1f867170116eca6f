// Simulated times, in milliseconds.
#pragma once

#include <cstdint>

namespace drover::sim {

inline constexpr std::int64_t kSecond = 1000;
inline constexpr std::int64_t kMinute = 60 * kSecond;
inline constexpr std::int64_t kHour = 60 * kMinute;
/// What clocks show when a world begins.
inline constexpr std::int64_t kEpochMs = 1'700'000'000'000;

}  // namespace drover::sim
