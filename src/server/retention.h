// Jobs that ended long ago go: first out of the core, then row by row out of the ledger, and then those segments of
// logs that speak of nobody else. A little at a time, so that nobody waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "logs/segment_jobs.h"
#include "ports/backend.h"
#include "ports/store.h"
#include "server/server_log.h"

namespace drover {

class Retention {
 public:
  struct Options {
    std::string logs;          // the folder
    std::int64_t keep_ms = 0;  // how long after its end; 0: for ever
  };
  /// Told of each job that is no more.
  using Forgotten = std::function<void(JobId)>;

  Retention(Options options, Backend& backend, Store& store, std::unique_ptr<StoreReader> reader, ServerLog& log,
            Forgotten forgotten)
      : options_(std::move(options)),
        backend_(backend),
        store_(store),
        reader_(std::move(reader)),
        log_(log),
        forgotten_(std::move(forgotten)) {}

  /// Some of what there is to do; to be called again and again, from one thread. True: there is more, and soon.
  bool step(std::int64_t now_ms);

 private:
  Result<bool> do_some(std::int64_t now_ms);
  /// Asks the core to forget what ended before this time; whether there was any.
  Result<bool> forget_jobs(std::int64_t ended_by_ms);
  /// Looks at one segment that nobody writes any more; whether there are others to look at.
  Result<bool> sweep_segments(std::int64_t written_by_ms);

  const Options options_;
  Backend& backend_;
  Store& store_;
  const std::unique_ptr<StoreReader> reader_;
  ServerLog& log_;
  const Forgotten forgotten_;

  std::int64_t next_look_ms_ = 0;
  bool rows_left_ = true;  // perhaps from before the server's last end
  bool segments_left_ = true;
  std::map<std::uint64_t, SegmentJobs> known_;  // of segments that stay, for now
};

}  // namespace drover
