// Faults that can be injected into what machines, their attempts and jobs cost.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class CostFault : std::uint8_t {
  none,
  // Bills of machines.
  billed_from_request,  // instead of from when the provider accepted it
  billed_anew,          // with each news of a machine
  billed_after_end,
  billed_as_on_demand,  // a spot machine
  gone_not_added,       // to what the fleet has cost
  idle_not_added,       // of a machine that is gone
  // What attempts cost.
  charged_twice,
  charged_as_on_demand,
  whole_machine_charged,  // whatever part of it was asked for
  longer_than_machine,    // an attempt that is said to be longer than its machine has been there
  charged_beyond_bill,
  rest_dropped,  // less than a micro-dollar
  restart_forgets_attempts,
  charged_without_price,
  loss_not_charged,
  // What jobs cost.
  job_not_charged,
  waste_not_counted,
};

}  // namespace drover
