// What attempts of this slot share: its limits for as long as it lives, the rest until it turns to others.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

#include "run/slot/cgroup.h"
#include "run/slot/container.h"
#include "run/slot/task_plan.h"

namespace drover::slot {

/// As drover sent it; texts lie in its frame.
class Setup {
 public:
  void read_limits(std::span<const char> frame);
  void read(std::span<const char> frame);

  const char* workdir = "";  // empty: where the helper was born
  std::vector<const char*> environment;
  std::uint64_t log_limit = 0;
  int nice = 0;

  std::uint64_t memory_limit = 0;   // of the cgroup, for words about it
  std::uint64_t address_space = 0;  // 0: as much as there is
  std::uint64_t processes = 0;      // of the user; 0: as many as there may be
  bool has_processors = false;
  cpu_set_t processors{};  // that items may use
  Cgroup cgroup;
  Container container;

 private:
  std::vector<TaskFrame> frame_;  // one at most
};

}  // namespace drover::slot
