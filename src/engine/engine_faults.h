// Faults that can be injected in what drives the core.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class EngineFault : std::uint8_t {
  none,
  tick_before_inbox,  // a poll that waits in the inbox while its lease expires: the worker is declared lost
};

}  // namespace drover
