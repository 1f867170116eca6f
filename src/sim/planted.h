// What passes the seams of the world, as it would with a planted fault.
#pragma once

#include "agent/server_session.h"
#include "core/command.h"
#include "ports/store.h"
#include "sim/plant.h"

namespace drover::sim {

/// What a store would write of a batch.
Batch as_planted(Batch batch, const SeamPlants& plants);
/// What a worker would send.
SessionCall as_planted(SessionCall call, SeamPlant plant);
/// What a worker would hear.
Effect as_planted(Effect effect, SeamPlant plant);

}  // namespace drover::sim
