// What `why` should say, worked out from the records once more.
#pragma once

#include <optional>
#include <vector>

#include "core/core.h"

namespace drover::sim {

/// Whether what `why` has said about a job, or about an item of it, is true.
bool is_true_of(const Core& core, const Job& job, std::optional<ItemIndex> item, const Why& why);

/// The workers that could run it and take items.
std::vector<const Worker*> takers_of(const Core& core, const Job& job, std::optional<ItemIndex> item);

bool is_alive(const Core& core, const Worker& worker);

}  // namespace drover::sim
