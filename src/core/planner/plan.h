// The planner: which machines to launch and to drain, and why. A pure function: the same snapshot gives the same plan.
// Its policies are files of their own: policy_demand.cc, policy_step.cc, policy_backlog.cc, policy_fixed.cc.
#pragma once

#include <string>
#include <vector>

#include "core/planner/snapshot.h"

namespace drover {

struct PlannedLaunch {
  std::string fleet;
  Shape shape;
  std::string reason;
  bool spot = false;
};

struct PlannedDrain {
  std::string fleet;
  std::string machine;
  std::string reason;
};

/// What people are told of a fleet: one line per reason.
struct PlanNote {
  std::string fleet;
  std::string text;
};

/// How many machines a fleet with steps is to have from now on.
struct PlannedScale {
  std::string fleet;
  std::uint64_t machines = 0;
};

struct FleetPlan {
  std::vector<PlannedLaunch> launches;
  std::vector<PlannedDrain> drains;
  std::vector<PlannedScale> scales;
  std::vector<PlanNote> notes;  // why a fleet does nothing, or not more
};

/// As many drains as one plan has for one fleet at most.
inline constexpr std::size_t kMostPlanned = 32;
/// As many launches of one fleet as its provider has not answered, at most: those that it cannot keep up with would
/// wait until they are too late.
inline constexpr std::size_t kMostUnanswered = 32;

FleetPlan make_plan(const FleetSnapshot& snapshot);

}  // namespace drover
