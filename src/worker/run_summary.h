// What a run came to, read from its ledger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/store.h"
#include "worker/histogram.h"

namespace drover {

/// Items by state, in the words everybody uses.
struct ItemCounts {
  std::uint64_t pending = 0;
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
};

/// `running` is what the holder of the folder says; nobody but it knows.
Result<ItemCounts> count_items(StoreReader& reader, const Job& job, std::uint64_t running);

/// Items that failed in the same way.
struct FailureGroup {
  std::string what;  // "exit code 3", "signal 9 (SIGKILL)", "timed out", "could not start"
  std::uint64_t items = 0;
  ItemIndex example;
  AttemptNumber example_attempt;
  std::string example_reason;
};

struct RunSummary {
  std::uint64_t attempts = 0;
  std::int64_t cpu_us = 0;
  Histogram wall_us;
  Histogram memory_kib;
  std::vector<FailureGroup> failures;  // the largest first
};

/// What the example of a group says of itself: the last line of its stderr, else why it ended.
Result<std::string> example_text(StoreReader& reader, JobId job, const FailureGroup& group);

Result<RunSummary> summarize(StoreReader& reader, JobId job);

}  // namespace drover
