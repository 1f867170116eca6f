// Quantiles of many numbers in little memory: counts in buckets two percent wide.
#pragma once

#include <cstdint>
#include <map>

namespace drover {

class Histogram {
 public:
  void add(std::int64_t value);
  std::uint64_t count() const { return count_; }
  std::int64_t max() const { return max_; }
  /// The value below which `fraction` of what was added lies, within two percent.
  std::int64_t quantile(double fraction) const;

 private:
  std::map<int, std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace drover
