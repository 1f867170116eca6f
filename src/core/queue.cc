#include "core/queue.h"

#include <algorithm>

namespace drover {

std::string_view to_string(QueueOrder order) {
  return order == QueueOrder::fair ? "fair" : "first_come";
}

std::uint32_t Queue::weight_of(std::string_view share) const {
  for (const ShareWeight& it : weights) {
    const std::string_view pattern = it.share;
    const bool matches =
        pattern.ends_with('*') ? share.starts_with(pattern.substr(0, pattern.size() - 1)) : share == pattern;
    if (matches) return it.weight;
  }
  return ShareWeight::kOne;
}

// 2^x for x in 65,536ths, by a cubic that is exact at both ends of each doubling, so that it never goes back.
std::uint64_t usage_factor(std::int64_t elapsed_ms, std::int64_t decay_ms) {
  if (elapsed_ms <= 0) return 1 << 16;
  const std::int64_t doublings = std::min<std::int64_t>(elapsed_ms / decay_ms, kMostDoublings);
  const auto fraction = static_cast<std::uint64_t>((elapsed_ms % decay_ms) * (1 << 16) / decay_ms);
  // 1 + 0.6952 f + 0.2265 f^2 + 0.0783 f^3
  std::uint64_t power = 5132 * fraction >> 16;
  power = (14'842 + power) * fraction >> 16;
  power = (45'562 + power) * fraction >> 16;
  return ((std::uint64_t{1} << 16) + power) << doublings;
}

}  // namespace drover
