// Faults in streams and their messages.
#pragma once

#include <vector>

#include "core/streams/stream_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> stream_mutants() {
  return {
      {"store drops streams", store_drops<PutStream>()},
      {"store drops deleted streams", store_drops<DeleteStream>()},
      {"store drops message blocks", store_drops<PutMessageBlock>()},
      {"store drops deleted message blocks", store_drops<DeleteMessageBlock>()},
      {"store drops open messages", store_drops<PutOpenMessage>()},
      {"store drops deleted open messages", store_drops<DeleteOpenMessage>()},
      {"store drops what was sent before", store_drops<PutSentBefore>()},
      {"store drops what no longer counts", store_drops<DeleteSentBefore>()},
      {"store drops messages", store_drops<AddMessage>()},
      {"store drops moved messages", store_drops<MoveMessage>()},
      {"core: a stale receipt deletes", StreamFault::stale_receipt_deletes},
      {"core: visible too soon", StreamFault::visible_too_soon},
      {"core: a group not blocked", StreamFault::group_not_blocked},
      {"core: a group out of order", StreamFault::group_out_of_order},
      {"core: one receive too many", StreamFault::one_receive_too_many},
      {"core: one receive too few", StreamFault::one_receive_too_few},
      {"core: an outbox's message taken twice", StreamFault::fed_twice},
      {"core: a duplicate taken", StreamFault::duplicate_taken},
      {"core: an attempt keeps messages", StreamFault::attempt_keeps_messages},
      {"core: a delay skipped", StreamFault::delay_skipped},
      {"core: a purge changes nothing", StreamFault::purge_changes_nothing},
      {"core: a restart forgets delays", StreamFault::restart_forgets_delay},
      {"core: an expired FIFO receipt deletes", StreamFault::expired_fifo_receipt_deletes},
      {"core: an extension ignored", StreamFault::extension_ignored},
      {"core: an attempt served that has ended", StreamFault::ended_attempt_served},
      {"core: messages expire too soon", StreamFault::expires_too_soon},
      {"core: messages expire too late", StreamFault::expires_too_late},
      {"core: an item does not hold its message", StreamFault::item_does_not_hold},
      {"core: an item that failed deletes its message", StreamFault::failed_item_deletes},
      {"core: an item that is done keeps its message", StreamFault::done_item_keeps},
      {"core: an item that was not run counts as a receive", StreamFault::item_not_run_counts},
      {"core: a job that is over holds on to messages", StreamFault::job_over_holds_on},
  };
}
// clang-format on

}  // namespace drover::sim
