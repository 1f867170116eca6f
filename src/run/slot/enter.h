// Bringing an item into a container that is already there: a process of ours joins its namespaces and its cgroup, gives
// up what items may not have, and becomes the program. It costs about as much as starting a process.
#pragma once

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/slot/launch.h"
#include "run/slot/task_plan.h"
#include "run/slot_protocol.h"

namespace drover::slot {

/// Who an item is inside, and what it may do there: what the runtime gives the first process of a container.
struct Identity {
  /// A place inside with something mounted.
  struct Mount {
    std::string place;
    bool is_memory = false;  // made anew for each item; else as it is
    std::string type;
    std::uint64_t flags = 0;
    std::string options;
  };
  static constexpr std::size_t kMostMounts = 256;

  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;
  std::uint64_t capabilities = 0;  // a bit each
  bool no_new_privileges = true;
  bool has_read_only_root = false;
  std::vector<std::pair<std::int32_t, rlimit>> limits;
  std::vector<sock_filter> filter;  // of system calls; empty: none
  std::string workdir;
  std::vector<Mount> mounts;  // outer ones first

  void read(FrameReader& reader);
};

struct Entrance {
  int first_process = -1;  // a pidfd
  int cgroup = -1;         // born into it; -1: where we are
  int fresh_root = -1;     // a mount that becomes its root; -1: it sees what the item before has left
  const Identity* identity = nullptr;
};

/// As launch(), inside.
Launched enter(const Entrance& entrance, TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end);

}  // namespace drover::slot
