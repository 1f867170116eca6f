// Faults in what drives the core.
#pragma once

#include <vector>

#include "engine/engine_faults.h"
#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> engine_mutants() {
  return {
      {"engine: tick before the inbox", EngineFault::tick_before_inbox},
  };
}
// clang-format on

}  // namespace drover::sim
