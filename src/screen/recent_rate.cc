#include "screen/recent_rate.h"

#include <cmath>

namespace drover {
namespace {

constexpr double kOver_s = 10;
constexpr double kShortest_s = 0.2;
constexpr double kFewest = 5;  // items that a guess can be made from

}  // namespace

double RecentRate::note(double now_s, std::uint64_t done) {
  // What runs again is no longer done: what was seen before says nothing about it.
  if (!seen_.empty() && done < seen_.back().second) seen_.clear();
  seen_.emplace_back(now_s, done);
  while (seen_.size() > 2 && seen_[1].first <= now_s - kOver_s) seen_.pop_front();
  const auto& [then_s, done_then] = seen_.front();
  const double passed_s = now_s - then_s;
  return passed_s > kShortest_s && done > done_then ? static_cast<double>(done - done_then) / passed_s : 0;
}

std::optional<TimeLeft> RecentRate::left(std::uint64_t remaining) const {
  if (seen_.size() < 2 || remaining == 0) return std::nullopt;
  const auto count = static_cast<double>(seen_.back().second - seen_.front().second);
  if (count < kFewest) return std::nullopt;
  const double seconds = static_cast<double>(remaining) * (seen_.back().first - seen_.front().first) / count;
  const double doubt = 1 / std::sqrt(count);
  return TimeRange{seconds / (1 + doubt), seconds / (1 - doubt)};
}

}  // namespace drover
