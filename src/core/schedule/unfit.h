// Why nobody can run a job, in words.
#pragma once

#include <string>
#include <vector>

#include "core/schedule/schedule.h"

namespace drover {

/// Machines with the same labels, of the same fleet, and how many of them there are.
struct WorkersOfSite {
  Resources most;  // of each resource that one of them has
  const Labels* labels = nullptr;
  const std::string* fleet = nullptr;
  std::uint64_t count = 0;
};

/// What none of these workers has, of which none suits the demand.
std::string what_nobody_has(const Demand& demand, const std::vector<WorkersOfSite>& workers);

}  // namespace drover
