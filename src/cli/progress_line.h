// One line on a terminal that says how far something is, with a bar where the end is known.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cli/verb.h"
#include "screen/live_block.h"

namespace drover {

class ProgressLine {
 public:
  /// Shows nothing with --json or --quiet, or where standard error is not a terminal.
  explicit ProgressLine(const CommonFlags& flags);

  /// Whether a line would be shown now. `soon_again`: another will follow, so one too many need not be drawn.
  bool wants_line(bool soon_again) const;
  /// `total` 0: it is not known.
  void draw(std::uint64_t done, std::uint64_t total, const std::string& words);
  void clear() { block_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::unique_ptr<LiveBlock> block_;  // nothing: nowhere to draw
  Clock::time_point drawn_;
};

}  // namespace drover
