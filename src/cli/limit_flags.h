// The flags that say what an item may use, and when the machine is too short of something to start another.
#pragma once

#include <string>

#include "base/result.h"
#include "base/words.h"
#include "cli/verb_options.h"
#include "worker/machine.h"

namespace drover {

struct LimitFlags {
  std::string memory;
  double cpus = 0;
  std::uint32_t processes = 0;
  std::int32_t nice = 0;
  std::string log_limit = "64MiB";
};

void add_limit_flags(const Verb& verb, LimitFlags& flags);
Result<ItemLimits> make_limits(const LimitFlags& flags);
/// `base` with the flags that were given over it.
Result<ItemLimits> limits_over(const ItemLimits& base, const LimitFlags& flags, const Verb& verb);
/// Whether any of them was given.
bool has_limit_flags(const Verb& verb);

struct ShortageFlags {
  double max_load = 0;
  std::string min_free_memory;
};

void add_shortage_flags(const Verb& verb, ShortageFlags& flags);
Result<Shortage> make_shortage(const ShortageFlags& flags);

}  // namespace drover
