// What the runtime does before the one below it makes a container.
#pragma once

#include "runtime/runtime_call.h"
#include "runtime/runtime_log.h"

namespace drover {

/// Gives the container what it asks for, by changing the config.json of its bundle. A container that asks for nothing
/// keeps its file untouched.
Result<void> edit_container(const RuntimeCall& call, const AccelSettings& settings, const RuntimeLog& log);

/// The runtime below: the one that is named, or the first of the settings' that is installed and is not this program.
Result<std::string> find_runtime_below(const RuntimeCall& call, const AccelSettings& settings);

}  // namespace drover
