// How far copies of objects are: how many, how many bytes, how fast, how long it will take. From any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "cli/progress_line.h"
#include "screen/recent_rate.h"

namespace drover {

class TransferProgress {
 public:
  explicit TransferProgress(const CommonFlags& flags) : line_(flags) {}

  /// One more is to be copied.
  void found(std::uint64_t bytes);
  /// No more will be found: from now on the end is known.
  void all_found();
  void passed(std::uint64_t bytes);
  void copied();
  void clear();

  std::uint64_t objects() const;
  std::uint64_t bytes() const;
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  const Clock::time_point begun_ = Clock::now();
  mutable std::mutex mutex_;  // guards what follows
  ProgressLine line_;
  std::uint64_t found_ = 0;
  std::uint64_t found_bytes_ = 0;
  bool all_found_ = false;
  std::uint64_t copied_ = 0;
  std::uint64_t bytes_ = 0;
  RecentRate rate_;
};

}  // namespace drover
