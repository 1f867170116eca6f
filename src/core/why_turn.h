// Why a job that could be handed out is not: who could run it, and who comes first.
#pragma once

#include "core/why_facts.h"

namespace drover {

Reason why_not_its_turn(const Core& core, const Job& job);

}  // namespace drover
