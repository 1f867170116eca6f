// Everything the page shows of a ledger, gathered in one reading.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "page/failure_groups.h"
#include "page/slot_grid.h"
#include "page/spread.h"
#include "page/top_items.h"
#include "ports/store.h"

namespace drover::page {

struct Figures {
  /// As many attempts are drawn one by one; of more, the grid alone is.
  static constexpr std::size_t kMostBars = 5000;

  explicit Figures(std::function<std::string(std::string_view)> shape) : failures(std::move(shape)) {}

  void add(const Attempt& attempt);
  /// Whether `bars` holds every attempt.
  bool every_attempt_is_a_bar() const { return attempts <= kMostBars; }
  /// Whether the driver of any GPU told of one that an attempt had.
  bool has_gpus() const { return gpu_memory_kib.count() > 0 || gpu_busy_us > 0; }
  /// How long the run was, without its pauses.
  std::int64_t wall_us() const;
  /// The share of its slots' time that the run used, 0 to 1.
  double utilisation() const;

  std::uint64_t attempts = 0;
  std::uint64_t retries = 0;
  std::uint64_t lost = 0;
  std::uint64_t settled = 0;  // items
  std::int64_t busy_us = 0;   // of all slots
  std::int64_t cpu_us = 0;
  std::int64_t gpu_busy_us = 0;
  std::int64_t gpu_energy_mj = 0;
  std::int64_t cost_microdollars = 0;
  std::int64_t on_demand_microdollars = 0;  // 0: no price is known
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t printed_bytes = 0;
  Spread duration_us;
  Spread memory_kib;
  Spread gpu_memory_kib;
  SlotGrid grid;
  FailureGroups failures;
  TopItems slowest;
  TopItems largest;
  TopItems busiest;           // on GPUs
  std::vector<Attempt> bars;  // in the order of the ledger
};

Result<Figures> read_figures(StoreReader& reader, JobId job, std::function<std::string(std::string_view)> shape);

}  // namespace drover::page
