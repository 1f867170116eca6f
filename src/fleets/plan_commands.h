// What becomes of a plan: commands to the core, and lines for people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/fleets/fleet_calls.h"
#include "core/planner/plan.h"

namespace drover {

/// One for each fleet that the plan changes. `number` gives random numbers.
std::vector<ScaleFleet> scale_commands(const FleetPlan& plan, const std::function<std::uint64_t()>& number);

/// What the plan does about a fleet, a line for each reason.
std::vector<std::string> explained(const FleetPlan& plan, const FleetState& fleet);

}  // namespace drover
