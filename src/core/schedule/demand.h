// What items need of a machine, and what a machine has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/resources.h"
#include "core/queue.h"
#include "core/records.h"

namespace drover {

/// What an item's worker must have.
struct Demand {
  Resources ask;
  Labels require;
  std::vector<std::string> fleets = {};  // one of which it must belong to, if it belongs to any; none: all
  bool no_spot = false;                  // it must not be a spot machine

  auto operator<=>(const Demand&) const = default;
};

/// What a worker has.
struct Supply {
  Resources has;
  Labels labels;
  std::string fleet = {};

  bool suits(const Demand& demand) const;
  auto operator<=>(const Supply&) const = default;
};

Demand demand_of(const Job& job, const Queue* queue);
/// Of items that were lost too often to run on spot machines.
Demand sheltered(Demand demand);
/// What one item is charged for; more than a million CPUs are nobody's.
inline std::uint64_t charged_milli_cpus(const Job& job) {
  return std::min<std::uint64_t>(job.ask.milli_cpus, 1'000'000'000);
}
Supply supply_of(const Worker& worker);

}  // namespace drover
