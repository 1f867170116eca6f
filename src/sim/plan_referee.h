// Holds each plan against the rules of docs/fleets.md, worked out once more from what the plan was made of:
//
// - nothing is launched beyond a maximum, while the fleet is paused, deleted or waits after a failure, nor of a shape
//   that it does not have;
// - nothing is drained below the minimum, and of a fleet on demand only what has been idle for long enough;
// - what waits and has room nowhere gets a machine, from the first of its fleets that can have one more, and not more
//   machines than it needs; what is idle is drained;
// - the other policies come to the number of machines that they are to have, as far as they may.
#pragma once

#include <optional>
#include <string>

#include "core/planner/plan.h"

namespace drover::sim {

/// What is wrong with the plan.
std::optional<std::string> unsound(const FleetSnapshot& snapshot, const FleetPlan& plan);

}  // namespace drover::sim
