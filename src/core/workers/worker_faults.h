// Faults that can be injected in what the server knows of workers, and of what is in their hands.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class WorkerFault : std::uint8_t {
  none,
  late_report_believed,   // a report counts although its token is not the current one
  restart_forgets_terms,  // after a restart no worker's silence is ever noticed
  expiry_keeps_grants,    // a silent worker keeps what it holds
  given_up_grants_kept,   // what a lost answer granted stays granted
  stop_told_only_once,    // a stop order whose answer was lost is not said again
  new_incarnation_keeps,  // a restarted worker keeps what its former process held
  black_hole_not_fenced,  // a worker on which all fails is given more and more
  // To be found, each of these needs the fault named behind it.
  stall_counts_against_leases,    // stalls longer than the term: workers that could not be heard are declared lost
  restart_forgets_polls,          // a poll is answered, the server restarts, the same poll comes again: granted twice
  returned_running_item_ignored,  // a worker returns what it had named as running: its grant stays open
  restart_revives_lost_workers,   // a restart after a worker was lost: it counts as present for another term
  departed_workers_remembered,    // a worker is lost or leaves and more than a day passes: its record stays
};

}  // namespace drover
