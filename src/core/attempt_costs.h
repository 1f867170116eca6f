// What jobs are told of the cost of their attempts, by those who know machines; and what these are told.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/resources.h"

namespace drover {

struct AttemptCost {
  std::int64_t microdollars = 0;
  std::int64_t on_demand_microdollars = 0;  // what it would have been on demand
};

class AttemptCosts {
 public:
  virtual ~AttemptCosts() = default;
  /// An attempt that asked for this has ended after so long: its part of the worker's machine is paid for. Nothing: the
  /// price of the machine is not known, or the worker is on no machine of a fleet.
  virtual std::optional<AttemptCost> charge(WorkerId worker, const Resources& ask, std::int64_t wall_us) = 0;
  /// An attempt has ended there, well or not; it was not lost.
  virtual void on_item_ended(WorkerId worker) = 0;
};

}  // namespace drover
