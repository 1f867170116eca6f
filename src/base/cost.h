// What machine time costs: prices per hour, bills, and the parts of a machine that items pay for. All in whole
// micro-dollars.
#pragma once

#include <cstdint>

#include "base/resources.h"

namespace drover {

/// What an hour of a machine costs. 0: not known.
struct HourlyPrice {
  std::int64_t microdollars = 0;
  std::int64_t on_demand_microdollars = 0;  // what it would cost on demand

  bool operator==(const HourlyPrice&) const = default;
};

/// No machine costs more per hour than a million dollars.
inline constexpr std::int64_t kMostHourlyMicrodollars = 1'000'000'000'000;

/// Of a machine that was there for so long, rounded down.
std::int64_t bill_of(std::int64_t hourly_microdollars, std::int64_t ms);

/// A share of a machine: CPUs, memory and accelerators count by the ratio of their usual list prices, so that those of
/// items which run side by side add up to no more than the machine.
struct MachinePart {
  std::uint64_t weight = 0;
  std::uint64_t whole = 1;

  /// At most all of it.
  static MachinePart of(const Resources& ask, const Resources& machine);
};

/// A sum of costs. What is less than a micro-dollar is carried over to the next addition: many small costs add up to
/// what they are.
struct CostSum {
  std::int64_t microdollars = 0;
  std::int64_t rest = 0;  // in millionths of a micro-dollar per hour, times microseconds

  /// What the sum has grown by. It does not grow beyond `most`.
  std::int64_t add(std::int64_t hourly_microdollars, MachinePart part, std::int64_t us, std::int64_t most);

  bool operator==(const CostSum&) const = default;
};

}  // namespace drover
