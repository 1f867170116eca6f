// What a GPU did, as samples tell it: busy how long, which memory, how much energy between any two moments. Samples of
// long ago are merged, so that an attempt of days costs no more than a few hundred of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace drover {

/// What the driver says of a GPU at one moment.
struct GpuSample {
  std::optional<std::int64_t> busy_percent;  // over the last fraction of a second; not told of one in parts (MIG)
  std::int64_t memory_kib = 0;
  std::int64_t memory_total_kib = 0;
  std::optional<std::int64_t> energy_mj;  // since the driver was loaded; older GPUs do not tell

  bool operator==(const GpuSample&) const = default;
};

struct GpuUse {
  std::int64_t busy_us = 0;
  std::int64_t peak_memory_kib = 0;
  std::int64_t energy_mj = 0;

  bool operator==(const GpuUse&) const = default;
};

class GpuHistory {
 public:
  void add(std::int64_t at_ms, const GpuSample& sample);
  /// A second before the first sample is like the first, and one behind the last like the last.
  GpuUse between(std::int64_t from_ms, std::int64_t to_ms) const;
  std::size_t size() const { return points_.size(); }

 private:
  /// Sums up to a moment, and the most memory since the point before.
  struct Point {
    std::int64_t at_ms = 0;
    std::int64_t busy_us = 0;
    std::int64_t energy_mj = 0;
    std::int64_t peak_memory_kib = 0;
  };

  std::int64_t sum_at(std::int64_t at_ms, std::int64_t Point::* sum) const;
  void merge_old();

  std::vector<Point> points_;
  std::int64_t first_percent_ = 0;
  GpuSample last_;
  std::size_t added_ = 0;
};

}  // namespace drover
