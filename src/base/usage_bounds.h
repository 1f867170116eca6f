// What a worker says an attempt used is its word alone. Within these bounds sums of it stay numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/words.h"

namespace drover {

/// Nothing is negative, no time is longer than thirty years or later than the year 9999, nothing is larger than an
/// exbibyte.
inline Usage bounded(const Usage& said) {
  constexpr std::int64_t kLatestMs = 253'402'300'799'999;
  constexpr std::int64_t kMostUs = 1'000'000'000'000'000;
  constexpr std::int64_t kMostMj = 1'000'000'000'000'000;
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
  const auto within = [](std::int64_t value, std::int64_t most) { return std::clamp<std::int64_t>(value, 0, most); };
  return {.started_ms = within(said.started_ms, kLatestMs),
          .wall_us = within(said.wall_us, kMostUs),
          .user_us = within(said.user_us, kMostUs),
          .system_us = within(said.system_us, kMostUs),
          .peak_memory_kib = within(said.peak_memory_kib, kMostBytes >> 10),
          .read_bytes = within(said.read_bytes, kMostBytes),
          .written_bytes = within(said.written_bytes, kMostBytes),
          .gpu_busy_us = within(said.gpu_busy_us, kMostUs),
          .peak_gpu_memory_kib = within(said.peak_gpu_memory_kib, kMostBytes >> 10),
          .gpu_energy_mj = within(said.gpu_energy_mj, kMostMj)};
}

/// The slot of an attempt that never reached one: what failed is what the server gave the worker, and it says nothing
/// of the worker.
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

}  // namespace drover
