#include "core/fleets/fleet_records.h"

namespace drover {

std::string_view to_string(MachineState state) {
  switch (state) {
    case MachineState::requested: return "requested";
    case MachineState::starting: return "starting";
    case MachineState::joined: return "joined";
    case MachineState::draining: return "draining";
    case MachineState::leaving: return "leaving";
    case MachineState::gone: return "gone";
  }
  return "unknown";
}

}  // namespace drover
