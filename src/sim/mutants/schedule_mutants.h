// Faults in whose turn it is.
#pragma once

#include <vector>

#include "core/schedule/schedule_plants.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> schedule_mutants() {
  return {
      {"store drops what shares have used", store_drops<PutShare>()},
      {"core: an unfit worker served", SchedulePlant::unfit_worker_served},
      {"core: whoever waits is not told of work", SchedulePlant::parked_worker_forgotten},
      {"core: a queue's priority ignored", SchedulePlant::queue_priority_ignored},
      {"core: a job's priority ignored", SchedulePlant::job_priority_ignored},
      {"core: weights ignored", SchedulePlant::weight_ignored},
      {"core: usage forgotten", SchedulePlant::usage_forgotten},
      {"core: what must not run on spot machines does", SchedulePlant::never_spot_ignored},
      {"core: one more than max_running", SchedulePlant::one_more_than_max_running},
  };
}
// clang-format on

}  // namespace drover::sim
