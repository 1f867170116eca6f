// Settings from a file, for verbs that run for long: every flag of the verb is a key of the file (TOML) and a variable
// of the environment. The command line comes before the environment, and that before the file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/verb_options.h"

namespace drover {

/// Adds --config, and to every flag the variable that stands for it: $PREFIX_PLAIN_HTTP for --plain-http. After all
/// other flags.
void add_config_flag(const Verb& verb, std::string& path, std::string_view prefix);

/// Gives the verb's flags that are not set yet what the file says. An error names the file, the line and the key.
Result<void> read_config(const Verb& verb, const std::string& path);

}  // namespace drover
