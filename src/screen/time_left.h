// How long a run will still take, from how long its attempts took: a range, honest about its end.
//
// The rest of the run is played a few dozen times: what runs now ends some time after what it has run already, and what
// has not started takes durations like those seen. The range is what most of the plays gave. That is one rule for many
// short items (the queue decides, and the recent rate corrects it), for few long ones (whole rounds over the slots) and
// for the last ones running (what is left to them, given how long they ran).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "screen/duration_curve.h"

namespace drover {

struct WorkLeft {
  std::uint64_t not_started = 0;  // pending, and waiting for a retry
  std::vector<double> running_s;  // how long each running item has run
  std::uint64_t slots = 1;
  DurationsSeen seen;
  double rate = 0;  // items a second over the last ten seconds or so; 0: not known
};

/// The run ends most likely in between.
struct TimeRange {
  double low_s = 0;
  double high_s = 0;
};

/// Everything has started, and `count` of the last `of` have run longer than 95 % of the others did: any number would
/// be made up.
struct RunningLong {
  std::uint64_t count = 0;
  std::uint64_t of = 0;
};

using TimeLeft = std::variant<TimeRange, RunningLong>;

/// Nothing when too few attempts have ended to know, or when there is nothing left. The same input gives the same
/// answer.
std::optional<TimeLeft> estimate_time_left(const WorkLeft& work);

}  // namespace drover
