// What a person or a program sees of a run: a live display on a terminal, sparse lines elsewhere, or JSON lines; and a
// summary at the end.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/json_events.h"
#include "cli/verb.h"
#include "screen/live_block.h"
#include "screen/recent_rate.h"
#include "screen/run_view.h"
#include "worker/run_progress.h"
#include "worker/run_summary.h"

namespace drover {

class Reporter {
 public:
  /// `summary_to`: where the summary for people goes. Unless that is standard output there is no live display: what
  /// items print takes its place.
  Reporter(const CommonFlags& flags, std::string name, StoreReader& reader, std::FILE* summary_to = stdout);

  /// Whether it shows what the items use, so that it is worth measuring.
  bool shows_use() const { return block_ != nullptr; }

  void started(const Job& job, bool resumed);
  void progress(const RunProgress& progress);
  void failed(const FailedAttempt& failed);
  void notice(const std::string& text);
  /// Takes the display off the terminal.
  void clear();
  Result<void> summary(const Job& job, bool interrupted);

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const;
  void count_waiting(const Job& job);
  RunView view(const RunProgress& progress);
  void print_progress_line(const RunProgress& progress);
  void print_progress_event(const RunProgress& progress);
  void print_summary_event(const Job& job, bool interrupted, const ItemCounts& counts, const RunSummary& summary);
  void print_summary(const Job& job, bool interrupted, const ItemCounts& counts, const RunSummary& summary) const;

  const CommonFlags flags_;
  const std::string name_;
  StoreReader& reader_;
  std::FILE* const summary_to_;
  std::unique_ptr<JsonEvents> events_;  // nothing: no program listens
  std::unique_ptr<LiveBlock> block_;    // nothing: no terminal to draw on, or not wanted
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point last_line_ = begun_;
  Clock::time_point last_count_;
  RecentRate rate_;
  std::uint64_t done_at_start_ = 0;
  std::uint64_t waiting_ = 0;
};

}  // namespace drover
