// Holds what `why` says against what is, and against what happens when the reason it names is lifted.
//
// The first is worked out from the records once more. The second is tried out in a copy of the core: just that reason
// is taken away, those who could run it ask for work, and then the item is handed out, or another reason is named; and
// so on until it is handed out. So whatever `why` names must be all that keeps an item, and nothing else.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/core.h"

namespace drover::sim {

/// What is not true of a reason that was named for a job, or for an item of it.
std::optional<std::string> untruth(const Core& core, JobId job, std::optional<ItemIndex> item, const Why& why);

/// What went wrong while one reason after the other was lifted. `lifted` counts them.
std::optional<std::string> lift_reasons(const Core& core, JobId job, std::optional<ItemIndex> item,
                                        std::map<WhyCode, std::uint64_t>& lifted);

}  // namespace drover::sim
