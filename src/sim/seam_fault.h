// Faults that can be injected, to see whether the simulator finds them. Those here sit at the seams, in the simulator's
// own wiring; those inside the code (base/injected_fault.h) exist only in the program that tries them out.
#pragma once

#include <cstdint>
#include <variant>

#include "core/mutation.h"

namespace drover::sim {

enum class SeamFault : std::uint8_t {
  none,
  answers_before_commit,     // replies leave before their batch is durable
  commits_swapped,           // of two batches under way the second is committed first
  store_forgets_last_block,  // of a batch with several
  given_up_not_told,         // the worker never names polls that it gave up
  reports_not_repeated,      // what was said and not acknowledged is not said again
  returned_token_forgotten,  // an unstarted item is never given back
  told_twice_differently,    // a report is said twice, the second time of failures
  silent_when_busy,          // a worker that wants nothing does not poll
  incarnation_reused,        // a restarted worker pretends to be the one before
  strict_lease_ignored,      // what must not outlive its lease runs on
  gone_ignored,              // what is somebody else's by now runs on
  stop_orders_ignored,
  wrong_attempt_run,               // the attempt's number in a lease is taken for 1
  asks_not_told,                   // a lease does not say what its items ask for
  spool_wiped_at_start,            // results that an earlier process had not told are gone
  outage_taken_for_missing_image,  // a registry that does not answer stops the job
};

/// All that is injected at the seams of one world.
struct SeamFaults {
  SeamFaults(SeamFault one = SeamFault::none) : fault(one) {}

  SeamFault fault;
  bool (*store_drops)(const Mutation&) = nullptr;  // these changes never reach the disk

  bool are_in_store() const { return store_drops != nullptr || fault == SeamFault::store_forgets_last_block; }
};

/// A store that forgets one kind of change.
template <class Kind>
SeamFaults store_drops() {
  SeamFaults faults;
  faults.store_drops = [](const Mutation& it) { return std::holds_alternative<Kind>(it); };
  return faults;
}

}  // namespace drover::sim
