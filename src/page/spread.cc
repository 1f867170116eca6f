#include "page/spread.h"

#include <algorithm>
#include <cmath>

namespace drover::page {
namespace {

// The same width as in the summary that `drover run` prints, so that both show the same quantiles.
const double kStep = std::log(1.02);

constexpr double kFewestBars = 12;
constexpr double kMostBars = 56;
constexpr std::size_t kNarrowestBar = 3;  // buckets

}  // namespace

void Spread::add(std::int64_t value, bool succeeded) {
  value = std::max<std::int64_t>(value, 1);
  const auto at = static_cast<std::size_t>(std::log(static_cast<double>(value)) / kStep);
  if (at >= buckets_.size()) buckets_.resize(at + 1);
  ++(succeeded ? buckets_[at].succeeded : buckets_[at].others);
  ++count_;
  max_ = std::max(max_, value);
}

std::int64_t Spread::quantile(double fraction) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t at = 0; at < buckets_.size(); ++at) {
    seen += buckets_[at].succeeded + buckets_[at].others;
    if (seen < std::max<std::uint64_t>(wanted, 1)) continue;
    return std::min(max_, static_cast<std::int64_t>(std::llround(std::exp((static_cast<double>(at) + 0.5) * kStep))));
  }
  return max_;
}

std::vector<Spread::Bar> Spread::bars() const {
  const auto used = [](const Bucket& bucket) { return bucket.succeeded + bucket.others > 0; };
  const auto first = std::ranges::find_if(buckets_, used);
  if (first == buckets_.end()) return {};
  const auto low = static_cast<std::size_t>(first - buckets_.begin());
  const auto most = std::clamp(3 * std::sqrt(static_cast<double>(count_)), kFewestBars, kMostBars);
  const double range = static_cast<double>(buckets_.size() - low);
  const std::size_t together = std::max(static_cast<std::size_t>(std::ceil(range / most)), kNarrowestBar);
  std::vector<Bar> bars;
  for (std::size_t at = low; at < buckets_.size(); at += together) {
    Bar bar{.from = std::exp(static_cast<double>(at) * kStep),
            .to = std::exp(static_cast<double>(at + together) * kStep)};
    for (std::size_t i = at; i < std::min(at + together, buckets_.size()); ++i) {
      bar.succeeded += buckets_[i].succeeded;
      bar.others += buckets_[i].others;
    }
    bars.push_back(bar);
  }
  return bars;
}

}  // namespace drover::page
