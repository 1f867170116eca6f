// Faults in whose turn it is.
#pragma once

#include <vector>

#include "core/schedule/schedule_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> schedule_mutants() {
  return {
      {"store drops what shares have used", store_drops<PutShare>()},
      {"core: an unfit worker served", ScheduleFault::unfit_worker_served},
      {"core: whoever waits is not told of work", ScheduleFault::parked_worker_forgotten},
      {"core: a queue's priority ignored", ScheduleFault::queue_priority_ignored},
      {"core: a job's priority ignored", ScheduleFault::job_priority_ignored},
      {"core: weights ignored", ScheduleFault::weight_ignored},
      {"core: usage forgotten", ScheduleFault::usage_forgotten},
      {"core: what must not run on spot machines does", ScheduleFault::never_spot_ignored},
      {"core: one more than max_running", ScheduleFault::one_more_than_max_running},
  };
}
// clang-format on

}  // namespace drover::sim
