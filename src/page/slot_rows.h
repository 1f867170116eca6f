// The rows of the timeline: one per slot, or, where there are more slots than rows, neighbouring slots in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace drover::page {

class SlotRows {
 public:
  static constexpr std::size_t kMost = 64;

  /// What people call a row, and how many slots are in it.
  struct Row {
    std::string label;
    std::size_t slots = 0;
  };

  /// The slot's row. `merge(to)` is called when rows had to be put together to make room: what was kept for row i now
  /// belongs to row to[i].
  template <class Merge>
  std::size_t row_of(WorkerId worker, std::uint32_t slot, Merge&& merge) {
    const std::uint64_t key = key_of(worker, slot);
    const auto known = rows_.find(key);
    if (known != rows_.end()) return known->second;
    add(key);
    while (firsts_.size() > kMost) merge(std::span<const std::size_t>(fold()));
    return rows_.at(key);
  }

  /// The row of a slot that was met before.
  std::size_t row_of(WorkerId worker, std::uint32_t slot) const { return rows_.at(key_of(worker, slot)); }

  std::size_t count() const { return firsts_.size(); }
  std::size_t slots() const { return rows_.size(); }
  bool one_slot_each() const { return fold_ == 0; }
  /// The rows, from the first slot of the first worker to the last of the last: they are handed out as slots are met.
  std::vector<std::size_t> order() const;
  Row row(std::size_t row) const;
  /// How many slots of its row come before this one.
  std::size_t place_in_row(WorkerId worker, std::uint32_t slot) const;

 private:
  static std::uint64_t key_of(WorkerId worker, std::uint32_t slot) { return worker.value << 32U | slot; }
  void add(std::uint64_t key);
  std::vector<std::size_t> fold();

  // A slot's key has its worker in the upper half. Keys that are equal but for their lowest `fold_` bits share a row:
  // first neighbouring slots do, then, past 32 bits, neighbouring workers.
  unsigned fold_ = 0;
  std::map<std::uint64_t, std::size_t> firsts_;          // folded key → row
  std::unordered_map<std::uint64_t, std::size_t> rows_;  // key → row
};

}  // namespace drover::page
