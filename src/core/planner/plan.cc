#include "core/planner/plan.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_faults.h"
#include "core/planner/policies.h"

namespace drover {
namespace {

void drain_all(FleetDraft& fleet, FleetPlan& plan) {
  for (const PlannedMachine* machine : fleet.by_loss()) fleet.drain(*machine, "the fleet is being deleted", plan);
}

/// A maximum that was lowered.
void keep_maximum(FleetDraft& fleet, FleetPlan& plan) {
  const FleetRules& rules = fleet.rules();
  if (fleet.machines() > rules.most) {
    fleet.scale_to(rules.most, concat("the maximum is ", plural(rules.most, "machine")), plan);
  }
  if (rules.most_milli_cpus > 0 && fleet.milli_cpus() > rules.most_milli_cpus) {
    fleet.lower_to_cpus(rules.most_milli_cpus, concat("the maximum is ", plural(rules.most_milli_cpus / 1000, "CPU")),
                        plan);
  }
}

/// When what waits has its machines: those count.
void keep_minimum(FleetDraft& fleet, FleetPlan& plan) {
  const FleetRules& rules = fleet.rules();
  if (fleet.machines() < std::min(rules.least, rules.most) && !injected(FleetFault::minimum_not_launched)) {
    fleet.scale_to(rules.least, concat("the minimum is ", plural(rules.least, "machine")), plan);
  }
  if (rules.most > 0 && fleet.milli_cpus() < fleet.least_milli_cpus()) {
    const std::uint64_t least = fleet.least_milli_cpus();
    fleet.raise_to_cpus(least, concat("the minimum is ", plural(least / 1000, "CPU")), plan);
  }
}

void plan_one(FleetDraft& fleet, const FleetSnapshot& snapshot, FleetPlan& plan) {
  const ScalingPolicy policy = fleet.rules().policy;
  if (policy == ScalingPolicy::demand) return;  // knows them all
  if (policy == ScalingPolicy::fixed) return plan_fixed(fleet, plan);
  if (!fleet.state().has_known_shapes) {
    // Which items its machines could run is not known either.
    plan.notes.push_back({fleet.state().name, fleet.state().unavailable});
    return;
  }
  const Backlog backlog = backlog_of(fleet.state(), snapshot);
  fleet.serve(backlog.waiting);
  if (policy == ScalingPolicy::step) return plan_steps(fleet, backlog, plan);
  plan_for_backlog(fleet, backlog, plan);
}

}  // namespace

FleetPlan make_plan(const FleetSnapshot& snapshot) {
  FleetPlan plan;
  std::vector<FleetDraft> fleets;
  std::map<std::string_view, std::size_t> by_name;
  fleets.reserve(snapshot.fleets.size());
  for (const FleetState& state : snapshot.fleets) {
    by_name[state.name] = fleets.size();
    fleets.emplace_back(state, snapshot.now_ms);
  }
  for (const PlannedMachine& machine : snapshot.machines) {
    if (const auto found = by_name.find(machine.fleet); found != by_name.end()) fleets[found->second].add(machine);
  }
  for (FleetDraft& fleet : fleets) {
    if (fleet.state().deleting && !injected(FleetFault::deleted_not_drained)) {
      drain_all(fleet, plan);
      continue;
    }
    if (fleet.state().is_unreadable) {
      plan.notes.push_back({fleet.state().name, fleet.state().unavailable});
      continue;
    }
    if (fleet.state().paused) {
      plan.notes.push_back({fleet.state().name, "the fleet is paused"});
      continue;
    }
    fleet.drain_quarantined(plan);
    keep_maximum(fleet, plan);
    plan_one(fleet, snapshot, plan);
  }
  plan_for_demand(fleets, snapshot, plan);
  for (FleetDraft& fleet : fleets) {
    const FleetState& state = fleet.state();
    if (!state.deleting && !state.paused && !state.is_unreadable) keep_minimum(fleet, plan);
  }
  return plan;
}

}  // namespace drover
