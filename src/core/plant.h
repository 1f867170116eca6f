// Faults that can be planted in the core and the stepper, to see whether the simulator finds them (make sim-mutants).
// Only the program that does so is built with DROVER_PLANTS; everywhere else planted() is false before the compiler has
// looked twice.
#pragma once

#include <cstdint>

namespace drover {

enum class Plant : std::uint8_t {
  none,
  late_report_believed,     // a report counts although its token is not the current one
  loss_spends_a_try,        // the item pays for its machine
  restart_forgets_terms,    // after a restart no worker's silence is ever noticed
  expiry_keeps_grants,      // a silent worker keeps what it holds
  given_up_grants_kept,     // what a lost answer granted stays granted
  stop_told_only_once,      // a stop order whose answer was lost is not said again
  new_incarnation_keeps,    // a restarted worker keeps what its former process held
  early_stop_one_too_soon,  // max_failures is off by one
  one_loss_too_many,        // lost_limit is off by one
  reopening_forgets_count,  // a reopened item starts counting attempts from 1
  return_forgets_history,   // an item whose grant is released loses its tries
  retry_delay_skipped,
  cancel_leaves_job_open,   // a cancelled job without grants goes on
  unfit_worker_served,      // what a job asks for and requires is not held against what a worker has
  parked_worker_forgotten,  // somebody who waits is not told of work that turned up
  queue_priority_ignored,
  job_priority_ignored,  // the last of a share's jobs comes first
  weight_ignored,        // all shares count alike
  usage_forgotten,       // what a share has used does not count once it has ended
  disabled_queue_served,
  dependency_ignored,       // a job does not wait for the one before it
  item_dependency_ignored,  // nor an item for the item before it
  sequential_out_of_order,  // of items that follow each other the second goes first
  one_more_than_max_running,
  black_hole_not_fenced,  // a worker on which all fails is given more and more
  // Leases and workers. To be found, each of these needs the fault named behind it.
  stall_counts_against_leases,    // stalls longer than the term: workers that could not be heard are declared lost
  tick_before_inbox,              // a poll that waits in the inbox while its lease expires: the worker is declared lost
  restart_forgets_polls,          // a poll is answered, the server restarts, the same poll comes again: granted twice
  returned_running_item_ignored,  // a worker returns what it had named as running: its grant stays open
  restart_revives_lost_workers,   // a restart after a worker was lost: it counts as present for another term
  departed_workers_remembered,    // a worker is lost or leaves and more than a day passes: its record stays
};

#ifdef DROVER_PLANTS
extern Plant planted_now;
inline bool planted(Plant plant) {
  return planted_now == plant;
}
#else
constexpr bool planted(Plant /*none is*/) {
  return false;
}
#endif

}  // namespace drover
