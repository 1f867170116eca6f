// What items printed that have ended, from the spool to the report that tells their end. A report brings a mebibyte of
// it at most: what is longer goes ahead of its report, and what does not fit beside others comes with a later one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/lease.h"
#include "base/result.h"
#include "core/command.h"
#include "logs/log_reader.h"
#include "logs/log_writer.h"
#include "wire/worker_protocol.h"
#include "worker/live_logs.h"

namespace drover {

class EndedLogs {
 public:
  /// Runs something on the worker's loop, where all calls below are made.
  using Post = std::function<void(std::function<void()>)>;
  /// Takes ends that are to be told in a later report.
  using TellLater = std::function<void(std::vector<EndedAttempt>)>;

  /// `logs` writes to the folder `spool`.
  EndedLogs(LogWriter& logs, LiveLogs& live, std::string spool, Post post, TellLater tell_later)
      : logs_(logs),
        live_(live),
        spool_(std::move(spool)),
        post_(std::move(post)),
        tell_later_(std::move(tell_later)) {}

  /// The attempt prints no more.
  void on_ended(const Token& token, const LogKey& key);

  /// Goes on when what the report's items printed is in the spool's files, with the frames beside the report.
  using GoOn = std::function<void(Result<WorkerReport>&)>;
  void with_frames(Report report, GoOn go_on);

  /// The server has taken a report of these.
  void forget(const std::vector<Token>& told);

  /// Nothing is on its way ahead of its report.
  bool idle() const { return uploading_.empty(); }

 private:
  /// What an ended item printed, until the server has taken the report.
  struct Printed {
    LogKey key;
    std::string last_line;
    Bytes extents;        // in the spool
    LiveLogs::Sent sent;  // before it ended
    bool placed = false;
  };

  Result<WorkerReport> attach_frames(Report report);
  /// Those that the server does not have yet; where the others are is written into `ended`.
  Result<std::vector<FramePlace>> frames_left(LogReader& spooled, EndedAttempt& ended) const;
  /// It is told when the server has all that it printed.
  void tell_when_uploaded(EndedAttempt ended);

  LogWriter& logs_;
  LiveLogs& live_;
  const std::string spool_;
  const Post post_;
  const TellLater tell_later_;
  std::map<Token, Printed> printed_;
  std::map<Token, EndedAttempt> uploading_;
};

}  // namespace drover
