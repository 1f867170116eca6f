// Whose a container is: a process, named so that no other is ever taken for it.
#pragma once

#include <string>
#include <string_view>

namespace drover {

/// "PID-STARTTIME-NAMESPACE-BOOT" of this process.
std::string this_owner();

enum class OwnerState { alive, dead, before_reboot, unknown };

/// `unknown`: it counts its processes elsewhere, or the name is none.
OwnerState state_of_owner(std::string_view owner);

}  // namespace drover
