// Why nobody can run a job, in words.
#pragma once

#include <cstdint>
#include <string>

#include "core/schedule/demand.h"

namespace drover {

/// The workers that are alive, as far as it matters to a demand that none of them suits.
struct UnfitWorkers {
  std::uint64_t all = 0;
  std::uint64_t serving = 0;    // of a fleet that serves it
  Resources most;               // of each resource that one of those has
  bool one_has_labels = false;  // of those
};

/// What none of these workers has.
std::string what_nobody_has(const Demand& demand, const UnfitWorkers& workers);

}  // namespace drover
