// drover accel: what its parts share.
#pragma once

#include <string>

#include "cli/verb.h"

namespace drover {

/// Registers the OCI runtime with container engines, or takes it out again: drover accel install.
void add_accel_install(const Verb& verb, Invocation& invocation);

/// One of the programs that are installed beside this one. An error says that it is missing.
Result<std::string> program_beside(std::string_view name);

}  // namespace drover
