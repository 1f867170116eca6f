// Faults in what the server knows of workers, and of what is in their hands.
#pragma once

#include <vector>

#include "core/workers/worker_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> worker_mutants() {
  return {
      {"store drops grants", store_drops<PutGrant>()},
      {"store drops deleted grants", store_drops<DeleteGrant>()},
      {"store drops workers", store_drops<PutWorker>()},
      {"core: a late report believed", WorkerFault::late_report_believed},
      {"core: a restart forgets terms", WorkerFault::restart_forgets_terms},
      {"core: an expiry keeps grants", WorkerFault::expiry_keeps_grants},
      {"core: given-up grants kept", WorkerFault::given_up_grants_kept},
      {"core: a stop told only once", WorkerFault::stop_told_only_once},
      {"core: a new incarnation keeps grants", WorkerFault::new_incarnation_keeps},
      {"core: a black hole not fenced", WorkerFault::black_hole_not_fenced},
      {"core: a stall counts against leases", WorkerFault::stall_counts_against_leases},
      {"core: a restart forgets polls", WorkerFault::restart_forgets_polls},
      {"core: a returned running item ignored", WorkerFault::returned_running_item_ignored},
      {"core: a restart revives lost workers", WorkerFault::restart_revives_lost_workers},
      {"core: departed workers remembered", WorkerFault::departed_workers_remembered},
  };
}
// clang-format on

}  // namespace drover::sim
