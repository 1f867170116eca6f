// Attempts that have ended, and what they printed, from the spool to the report that tells of them. What has ended is
// written to the spool's files and its index; then it is told, in reports that bring about a mebibyte of logs each. A
// log that is longer than that is uploaded ahead of its report. What is in memory is the index: logs are read from the
// spool when a call is made, and again if it fails.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/report_outbox.h"
#include "base/lease.h"
#include "base/result.h"
#include "core/command.h"
#include "logs/log_reader.h"
#include "logs/log_writer.h"
#include "wire/worker_protocol.h"
#include "worker/live_logs.h"
#include "worker/spool_index.h"

namespace drover {

class EndedLogs {
 public:
  struct Hooks {
    /// Runs something on the worker's loop, where all calls below are made.
    std::function<void(std::function<void()>)> post;
    /// The log of an attempt that was to be uploaded is with the server, and this is what to tell.
    std::function<void(EndedAttempt)> uploaded;
    /// Something is wrong with the disk.
    std::function<void(const Error&)> problem;
  };

  /// `logs` writes to the folder `spool`, whose index is `index`.
  EndedLogs(LogWriter& logs, LiveLogs& live, SpoolIndex& index, std::string spool, Hooks hooks)
      : logs_(logs), live_(live), index_(index), spool_(std::move(spool)), hooks_(std::move(hooks)) {}

  /// An attempt that prints no more.
  struct Ended {
    EndedAttempt ended;
    LogKey key;
  };
  /// Who ran them.
  struct Who {
    WorkerId worker;
    std::uint64_t incarnation = 0;
  };
  /// Writes them and what they printed to the spool. While the disk is full that takes as long as it is.
  using Spooled = std::function<void(std::vector<SpooledEnd>)>;
  void spool(std::vector<Ended> ended, Who who, Spooled done);

  /// What an earlier process left in the spool. The rest of its files is deleted.
  std::vector<SpooledEnd> take_over();

  /// The report with what its attempts printed, read from the spool.
  WorkerReport with_frames(Report report);

  /// The server refuses its report: it is told without what it printed.
  void leave_out_log(const Token& token);

  /// The server has these, or does not want them.
  void forget(const std::vector<Token>& told);

  /// The server is away for longer: what is in the spool is made to survive the loss of power.
  void sync();

  /// Nothing is on its way ahead of its report.
  bool idle() const { return uploading_.empty(); }

 private:
  /// What an ended attempt printed, until the server has taken the report.
  struct Printed {
    LogKey key;
    Bytes in_spool;
    LiveLogs::Sent sent;  // before it ended, or ahead of its report
  };
  using FrameStart = std::pair<std::uint64_t, std::uint64_t>;

  void on_written(std::vector<SpooledAttempt> attempts, Who who, const Spooled& done);
  /// A frame that several share is counted for the first of them.
  SpooledEnd weigh(LogReader& spooled, const SpooledAttempt& attempt, std::set<FrameStart>& counted);
  /// The frames that the server does not have.
  static Result<std::vector<FramePlace>> frames_left(LogReader& spooled, const Bytes& in_spool,
                                                     const LiveLogs::Sent& sent);
  void check_frames(LogReader& spooled, SpooledAttempt& attempt);
  void upload(EndedAttempt ended);

  LogWriter& logs_;
  LiveLogs& live_;
  SpoolIndex& index_;
  const std::string spool_;
  const Hooks hooks_;
  std::map<Token, Printed> printed_;
  std::map<Token, EndedAttempt> uploading_;
  bool unsynced_ = false;
};

}  // namespace drover
