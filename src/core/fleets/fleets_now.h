// What a planner needs to know of jobs and machines. It reads the whole core and changes nothing.
#pragma once

#include "core/core.h"

namespace drover {

FleetsNow fleets_now(const Core& core, const AskFleets& question);

}  // namespace drover
