// Faults that can be injected in the agent.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class AgentFault : std::uint8_t {
  none,
  lost_results_doubled,  // what a call that failed had taken is there twice
  reports_unbounded,     // a report takes all that has ended, whatever its logs weigh
  declined_jobs_wanted,  // polls do not say which jobs the worker declines
};

}  // namespace drover
