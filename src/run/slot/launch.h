// From a plan to a running program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "run/slot/task_plan.h"

namespace drover::slot {

class Setup;

/// The attempt's first process, or why there is none.
struct Launched {
  pid_t pid = -1;
  std::string problem;
};

/// Starts the program in a process group of its own, with the two descriptors as its output. Returns when the program
/// has taken over, or could not. The process shares our memory until then, so its cost does not grow with anything.
Launched launch(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end);

/// Holds this process to what an item may have that no cgroup holds it to: in two parts, the first of which a program
/// on the way to the item can bear too.
void set_limits(const Setup& setup);
void set_priority(const Setup& setup);
void set_resource_limits(std::uint64_t address_space, std::uint64_t processes);  // 0: none

}  // namespace drover::slot
