// A command that could not be started, as inits, runtimes and daemons tell it.
#pragma once

#include <string>
#include <string_view>

#include "base/words.h"

namespace drover {

/// Whether an output that begins like this may turn out to be nothing but the message of one.
bool may_be_start_failure(LogStream stream, std::string_view output);

/// The message, if all of the output is one; empty: the command was started.
std::string_view start_failure(LogStream stream, std::string_view output, int exit_code);

/// "could not start nosuch: not found in PATH of the container". `program` may be empty: the image's own.
std::string why_not_started(std::string_view program, std::string_view message);

}  // namespace drover
