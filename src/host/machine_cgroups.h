// Cgroups of machines that are processes on this one. Each holds its machine to the CPUs and the memory that it offers,
// together with everything that the machine's worker starts: items and containers have their own cgroups below it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup_mounts.h"

namespace drover {

/// One machine's.
struct MachineCgroup {
  std::vector<std::string> join;     // that its first process enters
  std::vector<std::string> folders;  // that are removed with it; some are made by runtimes of containers
};

struct MachineSize {
  std::uint64_t milli_cpus = 0;
  std::uint64_t memory_bytes = 0;  // 0: no limit
};

/// What a machine has for its worker, beyond what it offers to items.
inline constexpr std::uint64_t kWorkerMemoryBytes = std::uint64_t{256} << 20;

class MachineCgroups {
 public:
  /// Below this process's own, or the nearest one above it that allows it. An error says why there can be none.
  static Result<MachineCgroups> find(const std::string& process = kThisProcess);

  /// Where the machine's cgroup would be. Known before it is made, so that the place can be recorded first.
  MachineCgroup place(const std::string& name) const;
  /// One that is already there is taken over. After an error nothing of it is left.
  Result<void> make(const MachineCgroup& cgroup, const MachineSize& size) const;

 private:
  struct Hierarchy {
    std::string controller;
    std::string parent;
  };

  static Result<MachineCgroups> find_v1(const std::string& process);
  Result<void> fill(const MachineCgroup& cgroup, const MachineSize& size) const;

  bool is_v2_ = false;
  std::vector<Hierarchy> hierarchies_;  // version 2: one, with all controllers
  std::vector<std::string> parents_;    // below which something of a machine may be
};

/// What all of them are called.
std::string machine_cgroup_name(const std::string& name);

}  // namespace drover
