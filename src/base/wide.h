// Sums that sixty-four bits would not hold.
#pragma once

#include <cstdint>
#include <limits>

namespace drover {

__extension__ using Wide = unsigned __int128;

/// The sum, or the largest or smallest number where it would be more or less.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace drover
