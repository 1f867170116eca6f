// Faults in what machines, attempts and jobs cost.
#pragma once

#include <vector>

#include "core/cost_plants.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> cost_mutants() {
  return {
      {"cost: billed from the request", CostPlant::billed_from_request},
      {"cost: a bill restarted", CostPlant::billed_anew},
      {"cost: billed after the end", CostPlant::billed_after_end},
      {"cost: a spot machine billed in full", CostPlant::billed_as_on_demand},
      {"cost: a gone machine not added", CostPlant::gone_not_added},
      {"cost: idle time not added", CostPlant::idle_not_added},
      {"cost: an attempt charged twice", CostPlant::charged_twice},
      {"cost: a spot attempt charged in full", CostPlant::charged_as_on_demand},
      {"cost: a whole machine charged", CostPlant::whole_machine_charged},
      {"cost: longer than the machine", CostPlant::longer_than_machine},
      {"cost: attempts beyond the bill", CostPlant::charged_beyond_bill},
      {"cost: the rest dropped", CostPlant::rest_dropped},
      {"cost: a restart forgets attempts", CostPlant::restart_forgets_attempts},
      {"cost: charged without a price", CostPlant::charged_without_price},
      {"cost: a loss not charged", CostPlant::loss_not_charged},
      {"cost: a job not charged", CostPlant::job_not_charged},
      {"cost: waste not counted", CostPlant::waste_not_counted},
  };
}
// clang-format on

}  // namespace drover::sim
