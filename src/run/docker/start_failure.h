// A command that could not be started, when only the output says so.
#pragma once

#include <string>
#include <string_view>

#include "base/words.h"

namespace drover {

/// Whether an output that begins like this may turn out to be nothing but such a message.
bool may_be_start_failure(LogStream stream, std::string_view output);

/// Why the command could not be started: "nosuch: No such file or directory"; empty: it was.
std::string start_failure(LogStream stream, std::string_view output, int exit_code);

/// What a runtime says of it, without the names of its layers: "exec: "nosuch": executable file not found in $PATH".
std::string without_layers(std::string_view message);

}  // namespace drover
