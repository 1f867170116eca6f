// How much memory SQLite may take for one question that a stranger asked. A few lines of SQL can make its parser take
// gigabytes, at a point where neither a progress handler nor an interrupt reaches it; an allocation that fails does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

class MemoryBudget {
 public:
  /// Before SQLite is used for anything else in this process.
  static void install();

  /// While it lives, SQLite gets at most so many bytes on this thread, and none after this time of the steady clock.
  MemoryBudget(std::int64_t bytes, std::int64_t deadline_ns);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
};

}  // namespace drover
