// How busy each slot was, over time: a grid of rows of slots and columns of time, in memory that depends on neither the
// number of attempts nor the length of the run. Attempts come in the order of items, not of time, and nobody knows
// beforehand when the run began or how often it paused. So columns exist only where something ran, and whenever there
// are too many of them each becomes twice as long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/records.h"
#include "page/attempt_span.h"
#include "page/slot_rows.h"

namespace drover::page {

class SlotGrid {
 public:
  static constexpr std::size_t kMostColumns = 1024;

  struct Cell {
    double busy_us = 0;        // of all slots of the row together
    std::uint64_t ended = 0;   // attempts that ended here
    std::uint64_t failed = 0;  // those of them that failed or were lost
  };

  struct Column {
    std::int64_t first_us = 0;  // the earliest that something ran here, and the latest
    std::int64_t last_us = 0;
    std::uint64_t succeeded = 0;  // items that were settled here
    std::uint64_t not_succeeded = 0;
    std::array<Cell, SlotRows::kMost> cells;
  };

  /// A time without a long pause.
  struct Stretch {
    std::int64_t from_us = 0;
    std::int64_t to_us = 0;
  };

  void add(const Attempt& attempt, const AttemptSpan& span);

  const SlotRows& rows() const { return rows_; }
  std::int64_t width_us() const { return width_us_; }
  /// The column that begins at epoch number × width, by number.
  std::map<std::int64_t, const Column*> columns() const;
  /// How much of each of columns() lies within the run: all of it, except where a stretch begins or ends.
  std::vector<std::int64_t> lengths_us() const;
  /// The run without its pauses: more than a minute, and more than a twentieth of the work, in which nothing ran.
  std::vector<Stretch> stretches() const;

 private:
  Column& column(std::int64_t number, std::int64_t from_us, std::int64_t to_us);
  void halve();

  SlotRows rows_;
  std::int64_t width_us_ = 1000;
  std::unordered_map<std::int64_t, Column> columns_;
};

}  // namespace drover::page
