// The helper processes of this process, and what a dead one leaves behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <set>

namespace drover {

/// Knows which children of this process are helpers of living slots. All others that have a session of their own are
/// orphans of a helper that died: helpers begin a session, and nothing below one can come back into ours. So a child
/// that this process starts itself is safe if it stays in our session.
class LiveHelpers {
 public:
  /// Children belong to the whole process, so there is one for all runners.
  static LiveHelpers& of_this_process();

  /// Calls `spawn`, which returns the new helper's pid, or a negative errno that is passed on.
  pid_t add(const std::function<pid_t()>& spawn);

  /// Makes sure that a helper is dead, waits for it, and, unless it ended in order, kills all it left behind.
  /// Returns its status as wait gives it.
  int bury(pid_t helper);

 private:
  void kill_orphans();

  // Held while spawning too: a helper that is not yet known looks like an orphan.
  std::mutex mutex_;
  std::set<pid_t> pids_;
};

}  // namespace drover
