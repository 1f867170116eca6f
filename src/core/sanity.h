// The whole-state sanity check, written once: every test and the simulator call it after every step.
#pragma once

#include <optional>
#include <string>

#include "core/core.h"

namespace drover {

/// The first thing that is wrong with the state, or nothing.
std::optional<std::string> find_fault(const Core& core);

}  // namespace drover
