// Faults in the agent.
#pragma once

#include <vector>

#include "agent/agent_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> agent_mutants() {
  return {
      {"agent: lost results doubled", AgentFault::lost_results_doubled},
      {"agent: reports without a bound", AgentFault::reports_unbounded},
      {"agent: declined jobs asked for", AgentFault::declined_jobs_wanted},
  };
}
// clang-format on

}  // namespace drover::sim
