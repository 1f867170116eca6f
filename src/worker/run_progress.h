// How far a run is, for whoever shows it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/records.h"
#include "worker/histogram.h"
#include "worker/machine.h"

namespace drover {

/// An attempt that ended without success, a moment ago.
struct FailedAttempt {
  ItemIndex item;
  AttemptNumber attempt;
  Outcome outcome;
  std::string last_line;
  bool will_retry = false;
};

/// What has been seen of the attempts that this process ran.
class RunStatistics {
 public:
  void add(const Usage& ended);
  void add(FailedAttempt failed);
  void add(const ProcessUse& running, std::int64_t now_ms);

  const Histogram& wall_us() const { return wall_us_; }
  std::int64_t wall_sum_us() const { return wall_sum_us_; }
  std::uint64_t ended() const { return ended_; }
  const std::deque<FailedAttempt>& last_failures() const { return last_failures_; }  // the newest first
  double cpu_cores() const { return cpu_cores_; }                                    // in use lately
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  Histogram wall_us_;
  std::int64_t wall_sum_us_ = 0;
  std::int64_t ended_cpu_us_ = 0;
  std::uint64_t ended_ = 0;
  std::deque<FailedAttempt> last_failures_;

  std::int64_t cpu_us_before_ = 0;
  std::int64_t measured_ms_ = 0;
  double cpu_cores_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

struct RunningItem {
  ItemIndex item;
  AttemptNumber attempt;
  std::string text;
  double seconds = 0;
};

struct RunProgress {
  Job job;
  std::size_t running = 0;
  std::size_t slots = 0;
  bool draining = false;
  std::string holding;               // why nothing new is started for now; empty: it is
  std::vector<RunningItem> longest;  // those that run, the longest first
  const RunStatistics& statistics;
};

}  // namespace drover
