// What fleets do for a job that no worker takes: which machine is coming, or what keeps one from being launched.
#pragma once

#include "core/why_facts.h"

namespace drover {

reason::Machines machines_for(const Core& core, const Job& job, bool may_be_spot = true);

}  // namespace drover
