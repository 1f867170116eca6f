#include "run/enforcement.h"

#include <utility>
#include <vector>

namespace drover {
namespace {

// Of this user's in the namespace: the helper, the first process, and the runtime with its threads, which may still be
// there when the item begins.
constexpr std::uint64_t kOurProcesses = 26;

/// So many of the processors that we may use ourselves, others for each slot as far as there are enough.
cpu_set_t share_of_processors(std::size_t count, std::size_t slot) {
  cpu_set_t ours;
  CPU_ZERO(&ours);
  ::sched_getaffinity(0, sizeof(ours), &ours);
  std::vector<std::size_t> all;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &ours)) all.push_back(cpu);
  }
  cpu_set_t share;
  CPU_ZERO(&share);
  for (std::size_t i = 0; i < count && i < all.size(); ++i) CPU_SET(all[(slot * count + i) % all.size()], &share);
  return share;
}

Enforcement enforce_by_processors(const ItemLimits& limits, std::size_t slot) {
  Enforcement enforcement;
  if (limits.milli_cpus == 0) return enforcement;
  enforcement.has_processors = true;
  enforcement.processors = share_of_processors((limits.milli_cpus + 999) / 1000, slot);
  return enforcement;
}

}  // namespace

Enforcement enforce(const ItemLimits& limits, const Cgroups& cgroups, std::size_t slot) {
  SlotCgroup cgroup = cgroups.make(limits);
  Enforcement enforcement = cgroup.holds_cpus ? Enforcement{} : enforce_by_processors(limits, slot);
  enforcement.cgroup = std::move(cgroup);
  if (!enforcement.cgroup.holds_memory) enforcement.address_space = limits.memory_bytes;
  return enforcement;
}

Enforcement enforce_inside(const ItemLimits& limits, std::size_t slot) {
  constexpr std::uint64_t kMostProcesses = 4096;
  Enforcement enforcement = enforce_by_processors(limits, slot);
  enforcement.address_space = limits.memory_bytes;
  enforcement.processes = limits.processes > 0 ? limits.processes + kOurProcesses : kMostProcesses;
  return enforcement;
}

}  // namespace drover
