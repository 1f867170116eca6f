// The flags that say what an item may use, and when the machine is too short of something to start another.
#pragma once

#include <string>

#include "base/result.h"
#include "base/words.h"
#include "worker/machine.h"

namespace CLI {
class App;
}

namespace drover {

struct LimitFlags {
  std::string memory;
  double cpus = 0;
  std::uint32_t processes = 0;
  std::int32_t nice = 0;
  std::string log_limit = "64MiB";
};

void add_limit_flags(CLI::App& verb, LimitFlags& flags);
Result<ItemLimits> make_limits(const LimitFlags& flags);

struct ShortageFlags {
  double max_load = 0;
  std::string min_free_memory;
};

void add_shortage_flags(CLI::App& verb, ShortageFlags& flags);
Result<Shortage> make_shortage(const ShortageFlags& flags);

}  // namespace drover
