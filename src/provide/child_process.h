// What local workers and programs of the administrator's have in common as processes that the server starts.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

/// This process's environment without what it was told of servers and keys, and without variables that begin like one
/// of `others`.
std::vector<std::string> child_environment(std::initializer_list<std::string_view> others = {});

/// Starts it with all signals as a program expects them. `flags`: POSIX_SPAWN_SETSID or POSIX_SPAWN_SETPGROUP.
Result<pid_t> spawn_child(std::vector<std::string> words, std::vector<std::string> environment,
                          const posix_spawn_file_actions_t& files, short flags);

/// The last line that says something.
std::string last_line(std::string_view text);

}  // namespace drover
