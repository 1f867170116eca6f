// Becoming a program, as execvp does it.
#pragma once

#include <string>

#include "run/slot/task_plan.h"

namespace drover::slot {

/// What a process exits with that could not become its program.
inline constexpr int kCouldNotStart = 127;

/// Returns only if it cannot: with an errno. Safe in memory that is shared with the parent.
int execute(TaskPlan& plan);

/// Where the files are seen that the program's name is about.
enum class Sight : std::uint8_t { same, elsewhere };

/// Why it could not, for people.
std::string explain(const char* program, int error, Sight sight = Sight::same);

}  // namespace drover::slot
