// How durations are spread, drawn through the few numbers that are kept of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace drover {

/// What is kept of the attempts that ended.
struct DurationsSeen {
  std::uint64_t count = 0;
  double mean_s = 0;
  double p50_s = 0;
  double p95_s = 0;
  double max_s = 0;
};

/// Durations by rank. A rank is -ln(the share that takes longer): 0 is the shortest, 0.69 the median, 3 the one that
/// 5 % exceed. On this scale an exponential spread is a straight line, the largest of n lies near ln n, and what has
/// passed rank r ends at r plus a rank of its own.
class DurationCurve {
 public:
  /// `running_s` is how long each running one has run. They count: the first to end are the short ones, and those that
  /// still run say so. (A life table, as actuaries make it.)
  DurationCurve(const DurationsSeen& seen, std::span<const double> running_s);

  double seconds_at(double rank) const;
  double rank_of(double seconds) const;
  double mean_s() const { return mean_s_; }
  /// The standard deviation over the mean.
  double variation() const { return variation_; }

 private:
  struct Knot {
    double rank = 0;
    double seconds = 0;
  };

  // Beyond p95 durations rise as a power: heavy tails do, and for others it hardly differs.
  void bend_last();
  void measure();

  std::vector<Knot> knots_;  // at least two; ranks rise, seconds do not fall
  double mean_s_ = 0;
  double variation_ = 0;
};

}  // namespace drover
