#include "worker/histogram.h"

#include <algorithm>
#include <cmath>

namespace drover {
namespace {

const double kStep = std::log(1.02);

}  // namespace

void Histogram::add(std::int64_t value) {
  value = std::max<std::int64_t>(value, 0);
  const int bucket = value == 0 ? -1 : static_cast<int>(std::log(static_cast<double>(value)) / kStep);
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, value);
}

std::int64_t Histogram::quantile(double fraction) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen += count;
    if (seen < std::max<std::uint64_t>(wanted, 1)) continue;
    if (bucket < 0) return 0;
    return std::min(max_, static_cast<std::int64_t>(std::llround(std::exp((bucket + 0.5) * kStep))));
  }
  return max_;
}

}  // namespace drover
