// The sizes that machines of provider `local` come in: parts of the machine that the server runs on.
#pragma once

#include <string>
#include <vector>

#include "core/planner/snapshot.h"

namespace drover {

/// small (1 CPU), medium (2), large (4), xlarge (8), 2xlarge (16) and so on, as far as this machine has so many, and
/// `machine`: all of it. Memory and accelerators are divided by CPUs. Types of machines that clouds rent out, if they
/// are named, are as large as there, but not larger than this machine, and have no accelerators that it does not have.
std::vector<Shape> local_shapes(const Resources& here, const std::vector<std::string>& named = {});

}  // namespace drover
