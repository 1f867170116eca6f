// Faults in jobs and their items.
#pragma once

#include <vector>

#include "core/jobs/job_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> job_mutants() {
  return {
      {"store drops jobs", store_drops<PutJob>()},
      {"store drops blocks", store_drops<PutBlock>()},
      {"store drops open items", store_drops<PutOpenItem>()},
      {"store drops deleted open items", store_drops<DeleteOpenItem>()},
      {"store drops attempts", store_drops<AddAttempt>()},
      {"store drops what was unsettled", store_drops<UnsettleAttempt>()},
      {"store drops deleted jobs", store_drops<DeleteJob>()},
      {"core: a loss spends a try", JobFault::loss_spends_a_try},
      {"core: early stop one too soon", JobFault::early_stop_one_too_soon},
      {"core: one loss too many", JobFault::one_loss_too_many},
      {"core: reopening forgets the count", JobFault::reopening_forgets_count},
      {"core: a return forgets tries", JobFault::return_forgets_history},
      {"core: retry delay skipped", JobFault::retry_delay_skipped},
      {"core: a cancel leaves its job open", JobFault::cancel_leaves_job_open},
      {"core: a disabled queue served", JobFault::disabled_queue_served},
      {"core: the job before it ignored", JobFault::dependency_ignored},
      {"core: the item before it ignored", JobFault::item_dependency_ignored},
      {"core: sequential items out of order", JobFault::sequential_out_of_order},
      {"core: an item lost too often not sheltered", JobFault::loss_not_sheltered},
      {"core: a shelter without end", JobFault::shelter_without_end},
      {"core: hidden messages count as gone", JobFault::hidden_counts_as_gone},
  };
}
// clang-format on

}  // namespace drover::sim
