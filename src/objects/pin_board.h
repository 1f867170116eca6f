// Files that somebody is reading, one after another: they are not removed before.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace drover {

class PinBoard : public std::enable_shared_from_this<PinBoard> {
 public:
  /// For as long as what it gives lives.
  std::shared_ptr<void> pin(std::vector<std::uint64_t> files) {
    {
      const std::scoped_lock lock(mutex_);
      for (const std::uint64_t it : files) ++pins_[it];
    }
    return {nullptr, [board = shared_from_this(), files = std::move(files)](void*) { board->unpin(files); }};
  }
  bool is_pinned(std::uint64_t file) const {
    const std::scoped_lock lock(mutex_);
    return pins_.contains(file);
  }

 private:
  void unpin(const std::vector<std::uint64_t>& files) {
    const std::scoped_lock lock(mutex_);
    for (const std::uint64_t it : files) {
      if (const auto found = pins_.find(it); --found->second == 0) pins_.erase(found);
    }
  }

  mutable std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, std::uint64_t> pins_;
};

}  // namespace drover
