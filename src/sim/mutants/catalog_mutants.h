// Faults in queues and what else people name.
#pragma once

#include <vector>

#include "sim/mutants/mutant.h"

namespace drover::sim {

// clang-format off
inline std::vector<Mutant> catalog_mutants() {
  return {
      {"store drops queues", store_drops<PutQueue>()},
  };
}
// clang-format on

}  // namespace drover::sim
