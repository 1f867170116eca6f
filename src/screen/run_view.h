// What the display shows of a run, filled in anew at each refresh.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "screen/time_left.h"

namespace drover {

struct RunView {
  struct RunningItem {
    std::uint64_t item = 0;
    std::uint32_t attempt = 1;
    std::string text;  // as it is: the layout makes it fit for a terminal
    double seconds = 0;
  };

  struct Failure {
    std::uint64_t item = 0;
    std::uint32_t attempt = 1;
    std::string how;        // "exit code 3"
    std::string last_line;  // of standard error, as it is; may be empty
    bool will_retry = false;
  };

  std::string name;
  std::uint64_t total = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;  // for a retry
  std::uint64_t pending = 0;
  double elapsed_s = 0;
  double rate = 0;                         // items a second, lately
  std::optional<TimeLeft> left;            // nothing while it cannot be known
  double cpu_cores = 0;                    // that the items keep busy
  std::uint64_t slots = 0;                 // 0: others run it, and what their machines give is not known
  std::uint64_t memory_bytes = 0;          // in use by the items
  std::uint64_t machine_memory_bytes = 0;  // 0: not known
  std::vector<RunningItem> longest;        // longest first; about ten are enough
  std::vector<Failure> last_failures;      // newest first
  std::string state_note;                  // "draining: 2 still running"; normally empty
};

}  // namespace drover
