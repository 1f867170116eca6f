#include "screen/duration_curve.h"

#include <algorithm>
#include <cmath>

namespace drover {
namespace {

constexpr double kShortest_s = 1e-6;
constexpr double kSmallestStep = 0.01;  // between the ranks of two knots

// Fewer than this say nothing about the one in twenty.
constexpr std::uint64_t kFewestForP95 = 20;

}  // namespace

DurationCurve::DurationCurve(const DurationsSeen& seen, std::span<const double> running_s) {
  const double p50 = std::max(seen.p50_s, kShortest_s);
  const double p95 = std::max(seen.p95_s, p50);
  const double max = std::max(seen.max_s, p95);
  const auto count = static_cast<double>(std::max<std::uint64_t>(seen.count, 1));
  // The shortest is not kept: as far below the median as the long ones are above it, but not below a tenth of it.
  knots_.push_back({0, std::max(2 * p50 - p95, p50 / 10)});

  const auto running_past = [&](double seconds) {
    return static_cast<double>(std::ranges::count_if(running_s, [&](double s) { return s > seconds; }));
  };
  double ended_before = 0;
  double past_before = static_cast<double>(running_s.size());
  const auto add_knot = [&](double seconds, double ended, double others) {
    const double past = running_past(seconds);
    // Who might have ended on the way here; one that was only seen on a part of the way counts half.
    const double at_risk = count - ended_before + (past_before + past) / 2 + others;
    const double step = -std::log(1 - (ended - ended_before) / at_risk);
    knots_.push_back({knots_.back().rank + std::max(step, kSmallestStep), seconds});
    ended_before = ended;
    past_before = past;
  };
  add_knot(p50, count / 2, 0);
  if (seen.count > kFewestForP95) add_knot(p95, count * 0.95, 0);
  add_knot(max, count, 1);  // as if one more were to be longer: the longest is never impossible, only rare
  if (seen.count > kFewestForP95) bend_last();
  if (past_before > 0) {
    // What runs past everything seen bends the curve up, if it does not lie below the curve anyway.
    const Knot longest = {knots_.back().rank + std::log((past_before + 1) / past_before), std::ranges::max(running_s)};
    if (longest.seconds > seconds_at(longest.rank)) knots_.push_back(longest);
  }
  measure();
}

void DurationCurve::bend_last() {
  constexpr int kPieces = 4;
  const Knot high = knots_.back();
  knots_.pop_back();
  const Knot low = knots_.back();
  for (int i = 1; i <= kPieces; ++i) {
    const double way = static_cast<double>(i) / kPieces;
    knots_.push_back(
        {low.rank + way * (high.rank - low.rank), low.seconds * std::pow(high.seconds / low.seconds, way)});
  }
}

void DurationCurve::measure() {
  constexpr int kSteps = 200;
  double squares = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = seconds_at(-std::log((i + 0.5) / kSteps));
    mean_s_ += seconds / kSteps;
    squares += seconds * seconds / kSteps;
  }
  variation_ = std::sqrt(std::max(0.0, squares - mean_s_ * mean_s_)) / mean_s_;
}

double DurationCurve::seconds_at(double rank) const {
  std::size_t right = 1;
  while (right + 1 < knots_.size() && rank > knots_[right].rank) ++right;
  const Knot& low = knots_[right - 1];
  const Knot& high = knots_[right];
  return low.seconds + (rank - low.rank) * (high.seconds - low.seconds) / (high.rank - low.rank);
}

double DurationCurve::rank_of(double seconds) const {
  if (seconds <= knots_[0].seconds) return 0;
  std::size_t right = 1;
  while (right + 1 < knots_.size() && seconds > knots_[right].seconds) ++right;
  const Knot& low = knots_[right - 1];
  const Knot& high = knots_[right];
  if (high.seconds <= low.seconds) return high.rank;
  return low.rank + (seconds - low.seconds) * (high.rank - low.rank) / (high.seconds - low.seconds);
}

}  // namespace drover
