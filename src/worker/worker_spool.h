// What a worker keeps on its disk until its server has it: what items print, and which attempts have ended. It outlives
// the process, so that results which the server does not know yet are reported by the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/server_session.h"
#include "base/result.h"
#include "logs/log_writer.h"
#include "worker/ended_logs.h"
#include "worker/live_logs.h"
#include "worker/spool_index.h"

namespace drover {

class WorkerSpool {
 public:
  /// `send` uploads frames of logs.
  static Result<std::unique_ptr<WorkerSpool>> open(const std::string& folder, LiveLogs::Send send,
                                                   const EndedLogs::Hooks& hooks);
  /// Nothing is left of it if the server has everything.
  ~WorkerSpool();
  WorkerSpool(const WorkerSpool&) = delete;
  WorkerSpool& operator=(const WorkerSpool&) = delete;

  /// What an earlier process left in it.
  LeftBehind take_over();

  LogWriter& logs() { return *logs_; }
  LiveLogs& live() { return *live_; }
  EndedLogs& ended() { return *ended_; }

  /// Looks at the disk.
  void watch(std::int64_t now_ms);
  /// Why no more items should be started; empty: they may be.
  const std::string& why_full() const { return why_full_; }
  /// Since when nothing can be written.
  std::optional<std::int64_t> stalled_ms() const { return stalled_ms_; }
  /// Items that print should wait until more can be written.
  bool is_behind() const;
  /// All that has ended is known to the server.
  bool empty() const { return index_->empty(); }

 private:
  WorkerSpool() = default;

  std::string folder_;
  std::uint64_t limit_ = 0;  // bytes
  std::unique_ptr<SpoolIndex> index_;
  std::unique_ptr<LiveLogs> live_;
  std::unique_ptr<EndedLogs> ended_;
  std::string why_full_;
  std::optional<std::int64_t> stalled_ms_;
  std::unique_ptr<LogWriter> logs_;  // last: its threads call into what is above
};

}  // namespace drover
