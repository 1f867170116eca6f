// A number of machines that is set from outside.
#include "base/text.h"
#include "base/units.h"
#include "core/planner/policies.h"

namespace drover {

void plan_fixed(FleetDraft& fleet, FleetPlan& plan) {
  fleet.scale_to(fleet.rules().desired, concat(plural(fleet.rules().desired, "machine"), " wanted"), plan);
}

}  // namespace drover
