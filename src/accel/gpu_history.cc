#include "accel/gpu_history.h"

#include <algorithm>

namespace drover {
namespace {

constexpr std::size_t kMergeEvery = 64;
// Of its own age, how coarse the past may be: an attempt's figures are off by as much at most.
constexpr std::int64_t kCoarseness = 100;
// For so long nothing changes unseen.
constexpr std::int64_t kMostUnseenMs = 1'000;

}  // namespace

void GpuHistory::add(std::int64_t at_ms, const GpuSample& sample) {
  // The clock was set back: what was before cannot be told apart from what comes.
  if (!points_.empty() && at_ms < points_.back().at_ms - kMostUnseenMs) points_.clear();
  Point point{.at_ms = at_ms, .peak_memory_kib = sample.memory_kib};
  if (points_.empty()) {
    first_percent_ = sample.busy_percent.value_or(0);
  } else {
    const Point& before = points_.back();
    if (at_ms <= before.at_ms) return;
    point.busy_us = before.busy_us + (at_ms - before.at_ms) * sample.busy_percent.value_or(0) * 10;
    point.energy_mj = before.energy_mj;
    if (sample.energy_mj && last_.energy_mj) {
      point.energy_mj += std::max<std::int64_t>(*sample.energy_mj - *last_.energy_mj, 0);
    }
  }
  points_.push_back(point);
  last_ = sample;
  if (++added_ % kMergeEvery == 0) merge_old();
}

// A point goes if the two beside it are close for their age.
void GpuHistory::merge_old() {
  const std::int64_t now_ms = points_.back().at_ms;
  std::vector<Point> kept;
  for (const Point& point : points_) {
    const bool merges =
        kept.size() >= 2 && (point.at_ms - kept[kept.size() - 2].at_ms) * kCoarseness < now_ms - point.at_ms;
    if (merges) {
      const std::int64_t peak = std::max(kept.back().peak_memory_kib, point.peak_memory_kib);
      kept.back() = point;
      kept.back().peak_memory_kib = peak;
    } else {
      kept.push_back(point);
    }
  }
  points_ = std::move(kept);
}

std::int64_t GpuHistory::sum_at(std::int64_t at_ms, std::int64_t Point::* sum) const {
  const auto behind = std::ranges::lower_bound(points_, at_ms, {}, &Point::at_ms);
  if (behind == points_.begin()) return points_.front().*sum;
  if (behind == points_.end()) return points_.back().*sum;
  const Point& a = *std::prev(behind);
  const Point& b = *behind;
  const double share = static_cast<double>(at_ms - a.at_ms) / static_cast<double>(b.at_ms - a.at_ms);
  return a.*sum + static_cast<std::int64_t>(share * static_cast<double>(b.*sum - a.*sum));
}

GpuUse GpuHistory::between(std::int64_t from_ms, std::int64_t to_ms) const {
  GpuUse out;
  if (points_.empty() || to_ms <= from_ms) return out;
  out.busy_us = sum_at(to_ms, &Point::busy_us) - sum_at(from_ms, &Point::busy_us);
  out.energy_mj = sum_at(to_ms, &Point::energy_mj) - sum_at(from_ms, &Point::energy_mj);
  // What lies just outside of the samples was as they say at their ends.
  const auto unseen_ms = [](std::int64_t from, std::int64_t to) {
    return std::clamp<std::int64_t>(to - from, 0, kMostUnseenMs);
  };
  out.busy_us += unseen_ms(std::max(from_ms, points_.back().at_ms), to_ms) * last_.busy_percent.value_or(0) * 10;
  out.busy_us += unseen_ms(from_ms, std::min(to_ms, points_.front().at_ms)) * first_percent_ * 10;
  for (const Point& point : points_) {
    if (point.at_ms > from_ms && point.at_ms <= to_ms) {
      out.peak_memory_kib = std::max(out.peak_memory_kib, point.peak_memory_kib);
    }
  }
  return out;
}

}  // namespace drover
