// What a run was told besides its definition: how many items at a time, where copies of output go, and the limits of
// items. It lies beside the run's ledger, so that resume and retry do as the run did.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "accel/device_pool.h"
#include "base/result.h"
#include "base/words.h"
#include "store/run_folder.h"

namespace drover {

struct RunSettings {
  std::size_t jobs = 0;                 // items at a time; 0: as many as there are cores
  std::string out_dir;                  // absolute; empty: none
  std::optional<ItemLimits> limits;     // nothing: those of the run's definition
  AcceleratorCounts accelerators = {};  // of each item
};

/// Empty settings if the run has none, as one of an older version.
RunSettings load_settings(const RunFolder& folder);
Result<void> save_settings(const RunFolder& folder, const RunSettings& settings);

}  // namespace drover
