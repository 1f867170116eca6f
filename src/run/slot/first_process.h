// The first process inside a container, which is this same program under another name: it is told by descriptor, not by
// arguments, what to run, so that a container's configuration is the same for every item, and any byte gets through.
//
// It runs the item as its child, passes signals on to it, reaps orphans, and says at the end what became of the item
// and what was used: exactly, where an exit code could only hint.
#pragma once

#include <cstdint>
#include <string>

#include "base/words.h"
#include "ports/descriptor.h"
#include "run/slot/task_plan.h"

namespace drover::slot {

class Setup;

inline constexpr const char* kFirstProcessName = "drover-init";
inline constexpr int kSignalBase = 128;  // what a container adds to the signal that ended a program
inline constexpr int kOrderDescriptor = 3;
inline constexpr int kLastWordsDescriptor = 4;

enum class OrderKind : std::uint8_t {
  run,     // as a child of its own
  become,  // itself
  wait,    // nothing: others come into the container
};

/// Something to read the order from; empty when there is no memory for it.
Descriptor write_order(OrderKind kind, const TaskPlan& plan, const Setup& setup);

/// What it says before it ends, followed by why it could not start the program.
struct LastWords {
  bool is_started = false;
  std::int32_t status = 0;  // as wait gives it
  Usage usage;              // of the item and all that came from it; wall and start are left to others
};

/// Does what it was ordered; what to exit with.
int be_first_process();

}  // namespace drover::slot
