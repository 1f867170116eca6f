// What the worker of a machine is told of the machine.
#pragma once

#include <string>
#include <vector>

#include "ports/provider.h"

namespace drover {

/// Flags of `drover worker`, so that it offers no more than the machine's shape has; and its labels.
std::vector<std::string> shape_flags(const MachineOrder& order);

}  // namespace drover
