// Which shapes the machines of a fleet may have: of those that its rules name, the ones that its provider has here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/planner/snapshot.h"

namespace drover {

struct FleetShapes {
  std::vector<Shape> shapes;
  bool are_known = true;    // its provider has said which it has
  std::string unavailable;  // why there are none; empty: there are some
  std::string missing;      // which of those that the rules name its provider does not have; empty: it has them all
};

/// `offered`: all that the provider has; nothing: there is no such provider here.
FleetShapes fleet_shapes(const FleetRules& rules, const std::optional<Result<std::vector<Shape>>>& offered);

}  // namespace drover
