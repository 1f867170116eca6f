// How far a send is, on a terminal: a bar if it is known how much there is, the number of messages, the rate and the
// time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/progress_line.h"
#include "cli/verb.h"
#include "screen/recent_rate.h"

namespace drover {

class SendProgress {
 public:
  /// `total_bytes` of the source; 0: nobody knows.
  SendProgress(const CommonFlags& flags, std::string stream, std::uint64_t total_bytes);

  /// Sent by now. `soon_again`: it need not be drawn each time.
  void note(std::uint64_t messages, std::uint64_t bytes, bool soon_again);
  /// Takes the display off the terminal.
  void clear() { line_.clear(); }
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  const std::string stream_;
  const std::uint64_t total_bytes_;
  const Clock::time_point begun_ = Clock::now();
  ProgressLine line_;
  RecentRate messages_;
  RecentRate bytes_;
};

}  // namespace drover
