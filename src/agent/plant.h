// Faults that can be planted in the agent, to see whether the simulator finds them (make sim-mutants); see
// core/plant.h.
#pragma once

#include <cstdint>

namespace drover {

enum class AgentPlant : std::uint8_t {
  none,
  lost_results_doubled,  // what a call that failed had taken is there twice
  reports_unbounded,     // a report takes all that has ended, whatever its logs weigh
  declined_jobs_wanted,  // polls do not say which jobs the worker declines
};

#ifdef DROVER_PLANTS
extern AgentPlant planted_in_agent;
inline bool planted(AgentPlant plant) {
  return planted_in_agent == plant;
}
#else
constexpr bool planted(AgentPlant /*none is*/) {
  return false;
}
#endif

}  // namespace drover
