// How fast something goes lately, and what follows for the rest of it where nothing else is known.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "screen/time_left.h"

namespace drover {

class RecentRate {
 public:
  /// `done` at this time, in seconds since any fixed moment. The rate over the last ten seconds or so; 0: not known.
  double note(double now_s, std::uint64_t done);

  /// A range that is the wider the fewer items it was learned from; nothing: too few.
  std::optional<TimeLeft> left(std::uint64_t remaining) const;

 private:
  std::deque<std::pair<double, std::uint64_t>> seen_;  // when, how many
};

}  // namespace drover
