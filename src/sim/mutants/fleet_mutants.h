// Faults in fleets: their records, plans, and what providers are called for.
#pragma once

#include <vector>

#include "core/fleets/fleet_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> fleet_mutants() {
  return {
      {"store drops fleets", store_drops<PutFleet>()},
      {"store drops deleted fleets", store_drops<DeleteFleet>()},
      {"store drops machines", store_drops<PutMachine>()},
      {"store drops forgotten machines", store_drops<DeleteMachine>()},
      {"core: a machine's name used twice", FleetFault::name_used_twice},
      {"core: a fleet beyond its maximum", FleetFault::maximum_ignored},
      {"core: a fleet beyond its CPUs", FleetFault::cpu_maximum_ignored},
      {"core: a paused fleet launches", FleetFault::paused_launches},
      {"core: a deleted fleet launches", FleetFault::deleted_launches},
      {"core: a launch before the wait is over", FleetFault::wait_ignored},
      {"core: no wait after a failed launch", FleetFault::no_wait},
      {"core: the wait after failures not growing", FleetFault::wait_does_not_grow},
      {"core: a lack of spot machines stops all launches", FleetFault::spot_failure_stops_all},
      {"core: a join keeps failures", FleetFault::join_keeps_failures},
      {"core: a late machine awaited", FleetFault::late_machine_awaited},
      {"core: a late machine kept", FleetFault::late_machine_kept},
      {"core: a drain not told", FleetFault::drain_not_told},
      {"core: a departed machine kept", FleetFault::departed_machine_kept},
      {"core: a vanished machine not fenced", FleetFault::vanished_not_fenced},
      {"core: a gone machine forgotten soon", FleetFault::gone_forgotten_soon},
      {"core: a gone machine remembered", FleetFault::gone_remembered},
      {"core: a fleet deleted with machines", FleetFault::deleted_with_machines},
      {"core: a fleet deleted at once", FleetFault::deleted_at_once},
      {"core: early ends not counted", FleetFault::early_end_not_counted},
      {"core: a join ends every wait", FleetFault::join_ends_every_wait},
      {"core: a machine of use proven again", FleetFault::proven_again},
      {"core: a restart forgets drains", FleetFault::restart_forgets_drains},
      {"core: taken messages not counted", FleetFault::taken_messages_ignored},
      {"planner: beyond the maximum", FleetFault::planned_beyond_maximum},
      {"planner: beyond the CPUs", FleetFault::planned_beyond_cpus},
      {"planner: a launch before the wait is over", FleetFault::planned_while_waiting},
      {"planner: a paused fleet drained", FleetFault::drained_while_paused},
      {"planner: too many launches a minute", FleetFault::launch_rate_ignored},
      {"planner: the minimum not launched", FleetFault::minimum_not_launched},
      {"planner: the minimum drained", FleetFault::minimum_drained},
      {"planner: a deleted fleet not drained", FleetFault::deleted_not_drained},
      {"planner: an idle machine not drained", FleetFault::idle_not_drained},
      {"planner: drained too soon", FleetFault::drained_too_soon},
      {"planner: busy machines drained first", FleetFault::busy_drained_first},
      {"planner: coming machines not counted", FleetFault::coming_machine_not_counted},
      {"planner: labels ignored", FleetFault::labels_ignored},
      {"planner: no room made in a full fleet", FleetFault::no_room_made},
      {"planner: the market ignored", FleetFault::market_ignored},
      {"planner: nothing in place of spot machines", FleetFault::never_on_demand},
      {"planner: spot machines not tried again", FleetFault::spot_not_tried_again},
      {"planner: a bid exceeded", FleetFault::bid_ignored},
      {"planner: drained while it holds messages", FleetFault::drained_with_receipts},
      {"planner: the next fleet ignored", FleetFault::next_fleet_ignored},
      {"planner: a step's bound exclusive", FleetFault::step_bound_exclusive},
      {"planner: drained while others warm up", FleetFault::drained_while_warming},
      {"planner: a backlog rounded down", FleetFault::backlog_rounded_down},
      {"planner: work in flight ignored", FleetFault::work_in_flight_ignored},
      {"planner: items of unknown length ignored", FleetFault::unknown_length_ignored},
      {"reconciler: a refused launch repeated", FleetFault::refused_launched_again},
      {"reconciler: a listed machine launched", FleetFault::listed_launched_again},
      {"reconciler: a launch not told", FleetFault::launch_not_told},
      {"reconciler: missed once is gone", FleetFault::missed_once_is_gone},
      {"reconciler: missed soon is gone", FleetFault::missed_soon_is_gone},
      {"reconciler: terminated and missed once is gone", FleetFault::leaving_missed_once_is_gone},
      {"reconciler: others' machines terminated", FleetFault::foreign_terminated},
      {"reconciler: missed for ever", FleetFault::missed_for_ever},
      {"reconciler: an ended machine not told", FleetFault::ended_not_told},
      {"reconciler: strays kept", FleetFault::strays_kept},
      {"reconciler: a leaving machine kept", FleetFault::leaving_not_terminated},
      {"reconciler: gone while it is listed", FleetFault::gone_while_listed},
      {"why: any machine said to come", FleetFault::any_machine_said_to_come},
      {"why: a coming machine not said", FleetFault::coming_machine_not_said},
      {"why: a pause not said", FleetFault::pause_not_said},
      {"why: a maximum not said", FleetFault::maximum_not_said},
      {"why: a wait not said", FleetFault::wait_not_said},
  };
}
// clang-format on

}  // namespace drover::sim
