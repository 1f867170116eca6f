// Faults that can be injected into fleets: what the core keeps of them, what is planned, and what providers are told.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class FleetFault : std::uint8_t {
  none,
  // The core.
  name_used_twice,
  maximum_ignored,      // of machines, when a plan is out of date
  cpu_maximum_ignored,  // likewise, of CPUs
  paused_launches,      // when a plan is out of date, as the next two
  deleted_launches,
  wait_ignored,
  no_wait,  // after a failure
  wait_does_not_grow,
  spot_failure_stops_all,  // no spot machine was to be had, so none of the others is launched
  join_keeps_failures,     // a machine that joins does not end the wait
  late_machine_awaited,    // for ten times as long as its fleet says
  late_machine_kept,       // one that joins when it is to go takes items
  drain_not_told,          // the worker of a machine that is drained takes items
  departed_machine_kept,   // one whose worker has left
  vanished_not_fenced,     // what ran on it is not taken back
  gone_forgotten_soon,     // after a minute
  gone_remembered,         // for ever
  deleted_with_machines,
  deleted_at_once,        // when the last machine is gone, whatever may still appear
  early_end_not_counted,  // of a machine that has just joined
  join_ends_every_wait,   // also that for machines that end early
  proven_again,           // by a machine that was of use before others failed
  restart_forgets_drains,
  taken_messages_ignored,  // of a job on a stream: those that are to run again are no demand
  // The planner.
  planned_beyond_maximum,
  planned_beyond_cpus,
  planned_while_waiting,  // after a failure
  drained_while_paused,
  launch_rate_ignored,
  minimum_not_launched,
  minimum_drained,  // an idle machine is drained, whatever the minimum
  deleted_not_drained,
  idle_not_drained,
  drained_too_soon,  // when half of its idle time is over
  busy_drained_first,
  coming_machine_not_counted,  // as room for what waits
  labels_ignored,
  no_room_made,     // in a full fleet, by machines that have nothing to do
  market_ignored,   // items that must not run on spot machines are planned for them
  never_on_demand,  // however long there are no spot machines
  bid_ignored,
  next_fleet_ignored,  // of a queue
  step_bound_exclusive,
  spot_not_tried_again,  // once there was none for long, by policies that count machines
  drained_while_warming,
  drained_with_receipts,  // although something on it holds messages
  backlog_rounded_down,
  work_in_flight_ignored,
  unknown_length_ignored,  // of items
  // What compares machines with what their provider lists.
  refused_launched_again,  // what it is given may be older than the answer
  listed_launched_again,
  launch_not_told,              // the core does not hear that it succeeded
  missed_once_is_gone,          // one that a single list omits
  missed_soon_is_gone,          // one that several lists omit, however soon they come one after the other
  leaving_missed_once_is_gone,  // one that was terminated and that a single list omits
  foreign_terminated,           // machines that others have at the provider
  missed_for_ever,              // one that is not listed any more
  ended_not_told,
  strays_kept,  // machines that the core does not know
  leaving_not_terminated,
  gone_while_listed,
  // What is said of an item that waits.
  any_machine_said_to_come,  // whether or not it could run it
  coming_machine_not_said,
  pause_not_said,
  maximum_not_said,
  wait_not_said,  // after a failure
};

}  // namespace drover
