// The flags that say when the machine is too short of something to start another item.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/verb_options.h"
#include "worker/machine.h"

namespace drover {

struct ShortageFlags {
  double max_load = 0;
  std::string min_free_memory;
};

void add_shortage_flags(const Verb& verb, ShortageFlags& flags);
Result<Shortage> make_shortage(const ShortageFlags& flags);

}  // namespace drover
