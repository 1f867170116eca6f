// A batch as a faulty store would write it.
#pragma once

#include "ports/store.h"
#include "sim/plant.h"

namespace drover::sim {

/// The batch itself, unless a fault of the store is planted.
Batch as_planted(const Batch& batch, SeamPlant plant);

}  // namespace drover::sim
