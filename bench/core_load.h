// Batches as the real core makes them when a worker reports ended items and takes new ones in grants of 100.
#pragma once

#include <cstdint>
#include <deque>

#include "core/core.h"
#include "ports/store.h"

namespace drover {

class CoreLoad {
 public:
  /// Sets up a job of `items`, and a worker that holds what the first batch of `batch` ended items will need.
  CoreLoad(std::uint64_t items, std::uint64_t batch);

  /// What must be durable before the first batch.
  Batch setup();
  /// The next `batch` items have ended, and as many more were granted.
  Batch next();
  /// An attempt of the last batch, to measure others by.
  const Attempt& sample() const { return sample_; }

 private:
  void poll(std::vector<EndedAttempt> ended, std::uint64_t want);
  EndedAttempt end_next();

  static constexpr std::uint64_t kGrantItems = 100;
  static constexpr std::uint64_t kIncarnation = 1;

  const std::uint64_t batch_;
  Core core_;
  WorkerId worker_;
  std::deque<Token> held_;
  std::uint64_t polls_ = 0;
  std::int64_t now_ms_ = 1'800'000'000'000;
  Attempt sample_;
};

}  // namespace drover
