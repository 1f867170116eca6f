// The items with the most of something, each by the attempt that had most of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/records.h"

namespace drover::page {

class TopItems {
 public:
  static constexpr std::size_t kMost = 20;

  /// Nothing of it does not count.
  void add(const Attempt& attempt, std::int64_t value);
  /// The largest first; of equal ones the first that came.
  const std::vector<Attempt>& attempts() const { return attempts_; }

 private:
  std::vector<Attempt> attempts_;
  std::vector<std::int64_t> values_;  // of the same place in attempts_
};

}  // namespace drover::page
