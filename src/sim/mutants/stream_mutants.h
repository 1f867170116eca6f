// Faults in streams and their messages.
#pragma once

#include <vector>

#include "core/streams/stream_plants.h"
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
      {"core: a stale receipt deletes", StreamPlant::stale_receipt_deletes},
      {"core: visible too soon", StreamPlant::visible_too_soon},
      {"core: a group not blocked", StreamPlant::group_not_blocked},
      {"core: a group out of order", StreamPlant::group_out_of_order},
      {"core: one receive too many", StreamPlant::one_receive_too_many},
      {"core: one receive too few", StreamPlant::one_receive_too_few},
      {"core: an outbox's message taken twice", StreamPlant::fed_twice},
      {"core: a duplicate taken", StreamPlant::duplicate_taken},
      {"core: an attempt keeps messages", StreamPlant::attempt_keeps_messages},
      {"core: a delay skipped", StreamPlant::delay_skipped},
      {"core: a purge changes nothing", StreamPlant::purge_changes_nothing},
      {"core: a restart forgets delays", StreamPlant::restart_forgets_delay},
      {"core: an expired FIFO receipt deletes", StreamPlant::expired_fifo_receipt_deletes},
      {"core: an extension ignored", StreamPlant::extension_ignored},
      {"core: an attempt served that has ended", StreamPlant::ended_attempt_served},
      {"core: messages expire too soon", StreamPlant::expires_too_soon},
      {"core: messages expire too late", StreamPlant::expires_too_late},
      {"core: an item does not hold its message", StreamPlant::item_does_not_hold},
      {"core: an item that failed deletes its message", StreamPlant::failed_item_deletes},
      {"core: an item that is done keeps its message", StreamPlant::done_item_keeps},
      {"core: an item that was not run counts as a receive", StreamPlant::item_not_run_counts},
      {"core: a job that is over holds on to messages", StreamPlant::job_over_holds_on},
  };
}
// clang-format on

}  // namespace drover::sim
