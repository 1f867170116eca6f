// The scaling policies. Each plans one fleet, but for `demand`, which knows them all: a queue goes on to its next fleet
// when the first can have no more machines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/planner/draft.h"

namespace drover {

/// What `step` and `backlog` look at. Work in flight is work: it counts, so that zero means that nothing is left.
struct Backlog {
  std::uint64_t items = 0;
  std::uint64_t seconds = 0;                 // that they will take, one after another
  bool has_unknown_length = false;           // some have no learned duration, and are not in `seconds`
  std::vector<const WaitingItems*> waiting;  // that the fleet's machines could run
};
Backlog backlog_of(const FleetState& fleet, const FleetSnapshot& snapshot);
bool could_run(const FleetState& fleet, const WaitingItems& items);
/// Whether the fleet's machines are given items of this queue.
bool serves_items(const FleetState& fleet, const WaitingItems& items);

void plan_for_demand(std::vector<FleetDraft>& fleets, const FleetSnapshot& snapshot, FleetPlan& plan);
void plan_steps(FleetDraft& fleet, const Backlog& backlog, FleetPlan& plan);
void plan_for_backlog(FleetDraft& fleet, const Backlog& backlog, FleetPlan& plan);
void plan_fixed(FleetDraft& fleet, FleetPlan& plan);

/// The step that the metric is in, while the alarm is in force.
std::optional<std::int64_t> step_value(const StepAlarm& alarm, std::int64_t metric);
/// How many machines there shall be, by one step.
std::int64_t adjusted(const StepAlarm& alarm, std::int64_t value, std::int64_t machines);

}  // namespace drover
