// Jobs that ended long ago go: first out of the core, then row by row out of the ledger, and then those segments of
// logs that speak of nobody else. A little at a time, so that nobody waits for it. So do lists of items that somebody
// uploaded and never used.
//
// A clock that is wrong must not cost anybody their jobs. The server's own time only moves forward, from what the wall
// clock said at its start, so a wall clock that jumps later changes nothing. One that was ahead at the start (a machine
// that boots before it has asked the time) is found out when it is set right: both clocks must say that a job is old.
// Until then nothing goes for a while; and for longer if, by the clock, nothing has happened for longer than jobs are
// kept, for a server that works would have forgotten them before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "logs/segment_jobs.h"
#include "ports/clock.h"
#include "ports/store.h"
#include "server/server_log.h"

namespace drover {

class Retention {
 public:
  struct Options {
    std::string logs;          // the folder
    std::int64_t keep_ms = 0;  // how long after its end; 0: for ever
    std::int64_t started_ms = 0;
    std::int64_t quiet_before_ms = 0;  // how long before the start nothing had happened
  };
  /// Asks the core to forget a job.
  using Forget = std::function<void(const ForgetJob&, std::function<void(const Result<Effect>&)>)>;
  /// Told of each job that is no more.
  using Forgotten = std::function<void(JobId)>;

  Retention(Options options, WallClock& wall, Forget forget, Store& store, std::unique_ptr<StoreReader> reader,
            ServerLog& log, Forgotten forgotten)
      : options_(std::move(options)),
        wall_(wall),
        forget_(std::move(forget)),
        store_(store),
        reader_(std::move(reader)),
        log_(log),
        forgotten_(std::move(forgotten)),
        forget_from_ms_(options_.started_ms + settling_ms()) {}

  /// Some of what there is to do; to be called again and again, from one thread. True: there is more, and soon.
  bool step(std::int64_t now_ms);
  /// A user has removed jobs: their rows and logs are not kept until the next regular pass. From the same thread.
  void jobs_removed() { rows_left_ = segments_left_ = young_segments_too_ = true; }

 private:
  std::int64_t settling_ms() const;
  Result<bool> do_some(std::int64_t now_ms);
  Result<void> look(std::int64_t now_ms);
  /// Asks the core to forget what ended before this time; whether there was any.
  Result<bool> forget_jobs(std::int64_t ended_by_ms);
  /// Looks at one segment that nobody writes any more; whether there are others to look at.
  Result<bool> sweep_segments(std::int64_t now_ms);
  Result<bool> is_wanted(const SegmentJobs& segment, std::int64_t now_ms, std::int64_t ahead_ms);

  const Options options_;
  WallClock& wall_;
  const Forget forget_;
  Store& store_;
  const std::unique_ptr<StoreReader> reader_;
  ServerLog& log_;
  const Forgotten forgotten_;

  const std::int64_t forget_from_ms_;
  std::int64_t next_look_ms_ = 0;
  std::int64_t next_sweep_ms_ = 0;                  // when rows may be left again
  EndedAt asked_up_to_;                             // the last job of this pass that the core was asked to forget
  std::optional<std::int64_t> old_attempts_by_ms_;  // those of jobs on streams that ended by then are to be deleted
  bool rows_left_ = true;                           // perhaps from before the server's last end
  bool segments_left_ = true;
  bool young_segments_too_ = false;             // those that are younger than jobs are kept are also looked at
  std::map<std::uint64_t, SegmentJobs> known_;  // of segments that stay, for now
};

}  // namespace drover
