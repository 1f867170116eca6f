// What local workers and programs of the administrator's have in common as processes that the server starts.
#pragma once

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

struct ChildStart {
  std::vector<std::string> words;
  std::vector<std::string> environment;
  int in = -1;   // its standard input
  int out = -1;  // and output
  int err = -1;
  int keep = -1;                  // stays open in it, under the same number; -1: nothing else does
  bool has_session = false;       // of its own; otherwise it has a process group of its own
  std::vector<std::string> join;  // folders of cgroups that it enters before the program begins
};

struct StartedChild {
  pid_t pid = 0;
  int join_error = 0;  // why it is not in all of its cgroups
};

/// Starts it with all signals as a program expects them.
Result<StartedChild> start_child(const ChildStart& start);

/// The last line that says something.
std::string last_line(std::string_view text);

}  // namespace drover
