#include "core/queue.h"

#include <algorithm>

#include "core/schedule/schedule_faults.h"

namespace drover {

std::string_view to_string(QueueOrder order) {
  return order == QueueOrder::fair ? "fair" : "first_come";
}

std::uint32_t Queue::weight_of(std::string_view share) const {
  if (injected(ScheduleFault::weight_ignored)) return ShareWeight::kOne;
  for (const ShareWeight& it : weights) {
    const std::string_view pattern = it.share;
    const bool matches =
        pattern.ends_with('*') ? share.starts_with(pattern.substr(0, pattern.size() - 1)) : share == pattern;
    if (matches) return it.weight;
  }
  return ShareWeight::kOne;
}

namespace {

constexpr std::uint64_t kOne = 1 << 16;

/// Which doubling it is, counted from the first, and how far into it.
struct Moment {
  std::int64_t doubling = 0;
  std::uint64_t into_ms = 0;
};

Moment moment(std::int64_t elapsed_ms, std::int64_t decay_ms) {
  elapsed_ms = std::min(elapsed_ms, (kMostDoublings + 1) * decay_ms - 1);
  std::int64_t doubling = elapsed_ms / decay_ms;
  if (elapsed_ms % decay_ms < 0) --doubling;
  return {doubling, static_cast<std::uint64_t>(elapsed_ms - doubling * decay_ms)};
}

std::uint64_t scaled(std::uint64_t value, std::int64_t doubling) {
  if (doubling >= 0) return value << doubling;
  return doubling > -64 ? value >> -doubling : 0;
}

}  // namespace

std::uint64_t usage_factor(std::int64_t elapsed_ms, std::int64_t decay_ms) {
  const Moment at = moment(elapsed_ms, decay_ms);
  return scaled(kOne + kOne * at.into_ms / static_cast<std::uint64_t>(decay_ms), at.doubling);
}

// A doubling in which the factor goes from 1 to 2 sums up to three halves of it; so do all those before it together.
std::uint64_t usage_sum(std::int64_t elapsed_ms, std::int64_t decay_ms) {
  const Moment at = moment(elapsed_ms, decay_ms);
  const auto decay = static_cast<std::uint64_t>(decay_ms);
  const Wide square = Wide{at.into_ms} * at.into_ms * (kOne / 2) / decay;
  return scaled(kOne * (decay + decay / 2) + kOne * at.into_ms + static_cast<std::uint64_t>(square), at.doubling);
}

}  // namespace drover
