// Ctrl-C while something blocks: it is asked to stop and to clean up, before the program goes.
#pragma once

#include <signal.h>

#include <array>
#include <stop_token>
#include <thread>

namespace drover {

/// While this lives, SIGINT, SIGTERM and SIGHUP ask for a stop, and do not end the program. A second one of the same
/// does. One at a time in a program.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  /// The one that came; 0: none.
  int signal() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, kSignals.size()> before_ = {};
  std::stop_source stop_;
  int pipe_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace drover
