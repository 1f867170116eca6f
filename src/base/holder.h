// How much each of many holders has of something that there is only so much of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace drover {

/// Whom something counts for.
struct Holder {
  std::string name = {};         // of a key, or of the attempts of a job
  bool may_use_reserve = false;  // an admin, or a worker
};

/// How many each holder has, within limits. For one thread at a time.
class HolderCounts {
 public:
  struct Limits {
    std::size_t total = 0;
    std::size_t each = 0;      // for one holder that may not use the reserve
    std::size_t reserved = 0;  // of the total, for those that may
  };
  enum class Outcome : std::uint8_t { taken, holder_has_enough, none_left };

  explicit HolderCounts(const Limits& limits) : limits_(limits) {}

  Outcome take(const Holder& holder) {
    const auto found = counts_.find(holder.name);
    const std::size_t has = found == counts_.end() ? 0 : found->second;
    if (!holder.may_use_reserve && has >= limits_.each) return Outcome::holder_has_enough;
    const std::size_t reserved = holder.may_use_reserve ? 0 : limits_.reserved;
    if (total_ + reserved >= limits_.total) return Outcome::none_left;
    ++counts_[holder.name];
    ++total_;
    return Outcome::taken;
  }
  void give_back(const Holder& holder) {
    const auto found = counts_.find(holder.name);
    if (found == counts_.end()) return;
    --total_;
    if (--found->second == 0) counts_.erase(found);
  }

  std::size_t total() const { return total_; }

 private:
  const Limits limits_;
  std::map<std::string, std::size_t> counts_;
  std::size_t total_ = 0;
};

}  // namespace drover
