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
  std::string unavailable;  // why `shapes` is empty; empty if it is not
  std::string missing;      // names the shapes in the rules that the provider does not have; empty if it has all
};

/// `offered`: all that the provider has; nothing: there is no such provider here.
FleetShapes fleet_shapes(const FleetRules& rules, const std::optional<Result<std::vector<Shape>>>& offered);

}  // namespace drover
