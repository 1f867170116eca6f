// Accelerators of this machine, for items that this process runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/slot_devices.h"

namespace drover {

/// What --gpus and --accelerator KIND=N say, for whatever they mean.
Result<AcceleratorCounts> accelerator_counts(std::uint64_t gpus, const std::vector<std::string>& words);

/// Those that this process was given, if somebody gave it some; they are no longer in its environment.
Result<std::shared_ptr<const MachineDevices>> devices_here();

/// Those of up to so many slots whose items ask for so many each; null: they ask for none. An error: this machine has
/// not enough for one, or others use them.
Result<std::shared_ptr<SlotGrants>> devices_for(const AcceleratorCounts& each, std::size_t most_slots);

}  // namespace drover
