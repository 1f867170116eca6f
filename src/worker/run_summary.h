// What a run came to, read from its ledger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/store.h"
#include "wire/views.h"
#include "worker/histogram.h"

namespace drover {

/// `running` is what the holder of the folder says; nobody but it knows.
Result<ItemCounts> count_items(StoreReader& reader, const Job& job, std::uint64_t running);

/// Items that failed in the same way: they ended alike, and what they said last has the same shape.
struct FailureGroup {
  std::string what;   // failure_kind()
  std::string shape;  // of their last line; empty: they said nothing
  std::uint64_t items = 0;
  ItemIndex example;
  AttemptNumber example_attempt;
  std::string example_text;  // what the example said last, else why it ended
};

struct RunSummary {
  std::uint64_t attempts = 0;
  std::int64_t cpu_us = 0;
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  std::uint64_t log_bytes = 0;
  Histogram wall_us;
  Histogram memory_kib;
  std::vector<FailureGroup> failures;  // the largest first
};

Result<RunSummary> summarize(StoreReader& reader, JobId job);

}  // namespace drover
