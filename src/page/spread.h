// How many values are spread, in little memory: counts in buckets two percent wide, attempts that succeeded apart from
// all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drover::page {

class Spread {
 public:
  /// A bar of the picture: values in [from, to).
  struct Bar {
    double from = 0;
    double to = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t others = 0;
  };

  void add(std::int64_t value, bool succeeded);

  std::uint64_t count() const { return count_; }
  std::int64_t max() const { return max_; }
  /// The value below which `fraction` of what was added lies, within two percent.
  std::int64_t quantile(double fraction) const;
  /// Neighbouring buckets together, as many bars as the count of values deserves, from the smallest to the largest.
  std::vector<Bar> bars() const;

 private:
  struct Bucket {
    std::uint64_t succeeded = 0;
    std::uint64_t others = 0;
  };

  std::vector<Bucket> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace drover::page
