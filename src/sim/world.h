// The world: a server, workers, clients, the network between them, and a script of what happens to them. Everything in
// it follows from the script and its seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sim/script.h"
#include "sim/seam_fault.h"

namespace drover::sim {

/// What came of a script.
struct RunResult {
  std::optional<std::string> failure;
  std::int64_t failed_at_ms = 0;
  std::uint64_t hash = 0;  // of everything durable at the end, and of the way there
  std::uint64_t settled = 0;
  std::uint64_t attempts = 0;
  std::uint64_t runs = 0;  // items started, on whatever worker; only where it was acted out in this process
  std::uint64_t steps = 0;
  std::map<std::uint64_t, std::int64_t> cpu_ms;    // by job; only where it was acted out in this process
  std::map<std::uint64_t, std::int64_t> begun_ms;  // when a job's first item began; as above
  std::int64_t counted_hours = 0;                  // in which at least a hundred items were settled and a fault fell
};

RunResult act_out(const Script& script, SeamFaults faults = {});

}  // namespace drover::sim
