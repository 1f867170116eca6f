// How an attempt in a container ended, from what Docker says of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"

namespace drover {

struct ContainerEnd {
  int exit_code = 0;  // 128 + N: killed by the signal N
  bool had_oom_kill = false;
  std::uint64_t memory_limit = 0;  // 0: none
  std::vector<std::string> notes;
};

Outcome outcome_of(const ContainerEnd& end);

/// "2026-11-15T22:53:04.661094635Z" in microseconds since the epoch; 0: it is no such time.
std::int64_t docker_time_us(std::string_view text);

}  // namespace drover
