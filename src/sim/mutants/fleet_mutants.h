// Faults in fleets: their records, plans, and what providers are called for.
#pragma once

#include <vector>

#include "core/fleets/fleet_plants.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> fleet_mutants() {
  return {
      {"store drops fleets", store_drops<PutFleet>()},
      {"store drops deleted fleets", store_drops<DeleteFleet>()},
      {"store drops machines", store_drops<PutMachine>()},
      {"store drops forgotten machines", store_drops<DeleteMachine>()},
      {"core: a machine's name used twice", FleetPlant::name_used_twice},
      {"core: a fleet beyond its maximum", FleetPlant::maximum_ignored},
      {"core: a fleet beyond its CPUs", FleetPlant::cpu_maximum_ignored},
      {"core: a paused fleet launches", FleetPlant::paused_launches},
      {"core: a deleted fleet launches", FleetPlant::deleted_launches},
      {"core: a launch before the wait is over", FleetPlant::wait_ignored},
      {"core: no wait after a failed launch", FleetPlant::no_wait},
      {"core: the wait after failures not growing", FleetPlant::wait_does_not_grow},
      {"core: a lack of spot machines stops all launches", FleetPlant::spot_failure_stops_all},
      {"core: a join keeps failures", FleetPlant::join_keeps_failures},
      {"core: a late machine awaited", FleetPlant::late_machine_awaited},
      {"core: a late machine kept", FleetPlant::late_machine_kept},
      {"core: a drain not told", FleetPlant::drain_not_told},
      {"core: a departed machine kept", FleetPlant::departed_machine_kept},
      {"core: a vanished machine not fenced", FleetPlant::vanished_not_fenced},
      {"core: a gone machine forgotten soon", FleetPlant::gone_forgotten_soon},
      {"core: a gone machine remembered", FleetPlant::gone_remembered},
      {"core: a fleet deleted with machines", FleetPlant::deleted_with_machines},
      {"core: a fleet deleted at once", FleetPlant::deleted_at_once},
      {"core: early ends not counted", FleetPlant::early_end_not_counted},
      {"core: a join ends every wait", FleetPlant::join_ends_every_wait},
      {"core: a machine of use proven again", FleetPlant::proven_again},
      {"core: a restart forgets drains", FleetPlant::restart_forgets_drains},
      {"core: taken messages not counted", FleetPlant::taken_messages_ignored},
      {"planner: beyond the maximum", FleetPlant::planned_beyond_maximum},
      {"planner: beyond the CPUs", FleetPlant::planned_beyond_cpus},
      {"planner: a launch before the wait is over", FleetPlant::planned_while_waiting},
      {"planner: a paused fleet drained", FleetPlant::drained_while_paused},
      {"planner: too many launches a minute", FleetPlant::launch_rate_ignored},
      {"planner: the minimum not launched", FleetPlant::minimum_not_launched},
      {"planner: the minimum drained", FleetPlant::minimum_drained},
      {"planner: a deleted fleet not drained", FleetPlant::deleted_not_drained},
      {"planner: an idle machine not drained", FleetPlant::idle_not_drained},
      {"planner: drained too soon", FleetPlant::drained_too_soon},
      {"planner: busy machines drained first", FleetPlant::busy_drained_first},
      {"planner: coming machines not counted", FleetPlant::coming_machine_not_counted},
      {"planner: labels ignored", FleetPlant::labels_ignored},
      {"planner: no room made in a full fleet", FleetPlant::no_room_made},
      {"planner: the market ignored", FleetPlant::market_ignored},
      {"planner: nothing in place of spot machines", FleetPlant::never_on_demand},
      {"planner: spot machines not tried again", FleetPlant::spot_not_tried_again},
      {"planner: a bid exceeded", FleetPlant::bid_ignored},
      {"planner: drained while it holds messages", FleetPlant::drained_with_receipts},
      {"planner: the next fleet ignored", FleetPlant::next_fleet_ignored},
      {"planner: a step's bound exclusive", FleetPlant::step_bound_exclusive},
      {"planner: drained while others warm up", FleetPlant::drained_while_warming},
      {"planner: a backlog rounded down", FleetPlant::backlog_rounded_down},
      {"planner: work in flight ignored", FleetPlant::work_in_flight_ignored},
      {"planner: items of unknown length ignored", FleetPlant::unknown_length_ignored},
      {"reconciler: a refused launch repeated", FleetPlant::refused_launched_again},
      {"reconciler: a listed machine launched", FleetPlant::listed_launched_again},
      {"reconciler: a launch not told", FleetPlant::launch_not_told},
      {"reconciler: missed once is gone", FleetPlant::missed_once_is_gone},
      {"reconciler: missed soon is gone", FleetPlant::missed_soon_is_gone},
      {"reconciler: terminated and missed once is gone", FleetPlant::leaving_missed_once_is_gone},
      {"reconciler: others' machines terminated", FleetPlant::foreign_terminated},
      {"reconciler: missed for ever", FleetPlant::missed_for_ever},
      {"reconciler: an ended machine not told", FleetPlant::ended_not_told},
      {"reconciler: strays kept", FleetPlant::strays_kept},
      {"reconciler: a leaving machine kept", FleetPlant::leaving_not_terminated},
      {"reconciler: gone while it is listed", FleetPlant::gone_while_listed},
      {"why: any machine said to come", FleetPlant::any_machine_said_to_come},
      {"why: a coming machine not said", FleetPlant::coming_machine_not_said},
      {"why: a pause not said", FleetPlant::pause_not_said},
      {"why: a maximum not said", FleetPlant::maximum_not_said},
      {"why: a wait not said", FleetPlant::wait_not_said},
  };
}
// clang-format on

}  // namespace drover::sim
