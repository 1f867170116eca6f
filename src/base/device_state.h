// What a worker says of one of its GPUs as it is now.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace drover {

/// People are told of a GPU that an item has, and on which nothing has run for so long.
inline constexpr std::int64_t kLongIdleMs = 60'000;

struct DeviceState {
  std::string id;           // "GPU-..."
  std::uint32_t index = 0;  // as nvidia-smi counts
  JobId job;                // whose item has it; 0: nobody's
  ItemIndex item;
  std::string failure;       // why it is given to nobody; empty: it is
  bool is_measured = false;  // what follows is known
  std::uint32_t busy_percent = 0;
  std::int64_t memory_kib = 0;
  std::int64_t memory_total_kib = 0;
  std::int64_t idle_ms = 0;  // for how long nothing has run on it

  bool operator==(const DeviceState&) const = default;
};

}  // namespace drover
