// Faults in what machines, attempts and jobs cost.
#pragma once

#include <vector>

#include "core/cost_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> cost_mutants() {
  return {
      {"cost: billed from the request", CostFault::billed_from_request},
      {"cost: a bill restarted", CostFault::billed_anew},
      {"cost: billed after the end", CostFault::billed_after_end},
      {"cost: a spot machine billed in full", CostFault::billed_as_on_demand},
      {"cost: a gone machine not added", CostFault::gone_not_added},
      {"cost: idle time not added", CostFault::idle_not_added},
      {"cost: an attempt charged twice", CostFault::charged_twice},
      {"cost: a spot attempt charged in full", CostFault::charged_as_on_demand},
      {"cost: a whole machine charged", CostFault::whole_machine_charged},
      {"cost: longer than the machine", CostFault::longer_than_machine},
      {"cost: attempts beyond the bill", CostFault::charged_beyond_bill},
      {"cost: the rest dropped", CostFault::rest_dropped},
      {"cost: a restart forgets attempts", CostFault::restart_forgets_attempts},
      {"cost: charged without a price", CostFault::charged_without_price},
      {"cost: a loss not charged", CostFault::loss_not_charged},
      {"cost: a job not charged", CostFault::job_not_charged},
      {"cost: waste not counted", CostFault::waste_not_counted},
  };
}
// clang-format on

}  // namespace drover::sim
