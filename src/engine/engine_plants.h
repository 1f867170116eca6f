// Faults that can be planted in what drives the core.
#pragma once

#include <cstdint>

#include "base/plant.h"

namespace drover {

enum class EnginePlant : std::uint8_t {
  none,
  tick_before_inbox,  // a poll that waits in the inbox while its lease expires: the worker is declared lost
};

}  // namespace drover
