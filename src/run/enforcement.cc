#include "run/enforcement.h"

#include <vector>

namespace drover {
namespace {

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

}  // namespace

Enforcement enforce(const ItemLimits& limits, const Cgroups& cgroups, std::size_t slot) {
  Enforcement enforcement;
  enforcement.cgroup = cgroups.make(limits);
  if (!enforcement.cgroup.holds_memory) enforcement.address_space = limits.memory_bytes;
  if (!enforcement.cgroup.holds_cpus && limits.milli_cpus > 0) {
    enforcement.has_processors = true;
    enforcement.processors = share_of_processors((limits.milli_cpus + 999) / 1000, slot);
  }
  return enforcement;
}

}  // namespace drover
