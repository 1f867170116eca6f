// What the machine has left, and what the items use of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace drover {

/// When nothing new should be started for now.
struct Shortage {
  std::optional<double> max_load;               // of the last minute
  std::optional<std::uint64_t> min_free_bytes;  // of memory

  bool any() const { return max_load || min_free_bytes; }
  /// Why that is so now, for people; empty: it is not.
  std::string now() const;
};

/// All processes below this one, drover's own helpers included.
struct ProcessUse {
  std::int64_t cpu_us = 0;  // since they began
  std::uint64_t memory_bytes = 0;
};
ProcessUse use_of_descendants();

std::uint64_t machine_memory_bytes();

}  // namespace drover
