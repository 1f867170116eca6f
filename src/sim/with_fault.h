// What passes the seams of the world, as it would with an injected fault.
#pragma once

#include "agent/server_session.h"
#include "core/command.h"
#include "ports/store.h"
#include "sim/seam_fault.h"

namespace drover::sim {

/// What a store would write of a batch.
Batch with_fault(Batch batch, const SeamFaults& faults);
/// What a worker would send.
SessionCall with_fault(SessionCall call, SeamFault fault);
/// What a worker would hear.
Effect with_fault(Effect effect, SeamFault fault);

}  // namespace drover::sim
