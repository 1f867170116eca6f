// Faults that can be injected in whose turn it is.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class ScheduleFault : std::uint8_t {
  none,
  unfit_worker_served,      // what a job asks for and requires is not held against what a worker has
  parked_worker_forgotten,  // somebody who waits is not told of work that turned up
  queue_priority_ignored,
  job_priority_ignored,  // the last of a share's jobs comes first
  weight_ignored,        // all shares count alike
  usage_forgotten,       // what a share has used does not count once it has ended
  one_more_than_max_running,
  never_spot_ignored,  // items that must not run on spot machines do
};

}  // namespace drover
