// How a slot's limits are held: by cgroups where they may be made, else by what each process can be given.
#pragma once

#include <sched.h>

#include <cstdint>

#include "ports/runner.h"
#include "run/cgroups.h"

namespace drover {

struct Enforcement {
  SlotCgroup cgroup;
  std::uint64_t address_space = 0;  // RLIMIT_AS; 0: none
  std::uint64_t processes = 0;      // RLIMIT_NPROC, which counts those of a user namespace; 0: none
  bool has_processors = false;
  cpu_set_t processors{};  // for items that may not use all
};

/// For the slot with this number, counted from 0.
Enforcement enforce(const ItemLimits& limits, const Cgroups& cgroups, std::size_t slot);

/// In a container without cgroups.
Enforcement enforce_inside(const ItemLimits& limits, std::size_t slot);

}  // namespace drover
