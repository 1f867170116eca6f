// What the calls of workers need of the server behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/device_state.h"
#include "base/lease.h"
#include "base/result.h"
#include "base/worker_upload.h"
#include "core/command.h"
#include "ports/store.h"

namespace drover {

/// Frames of logs that come with a report: for each attempt that ended, which of them hold more of its output.
struct ReportFrames {
  std::vector<std::string> frames;
  std::vector<std::vector<std::uint32_t>> ended_frames;
};

class WorkerBackend {
 public:
  virtual ~WorkerBackend() = default;

  /// Answered when it is durable, on any thread.
  virtual void post(Command command, std::function<void(Result<Effect>)> answered) = 0;
  /// Does the work on a thread that may wait for disks. Workers do not wait there for people's lists.
  virtual void later(std::function<void()> work) = 0;

  /// A worker has registered, or was heard of again. From any thread.
  virtual void note_worker(WorkerId worker, const std::string& version) = 0;
  virtual void note_seen(WorkerId worker) = 0;
  virtual void note_version(WorkerId worker, const std::string& version) = 0;
  virtual void note_devices(WorkerId worker, std::vector<DeviceState> devices) = 0;

  /// Makes the frames durable, and fills in where the output of what ended is. `kept` is called then, on any thread;
  /// with an error if they cannot be stored, and then nothing of them is kept.
  /// Whether the positions that ended attempts name can be positions of a log.
  virtual Result<void> check_logs(const Report& report) = 0;
  /// Of a report that passed check_logs().
  virtual void keep_logs(ReportFrames frames, std::shared_ptr<Report> report,
                         std::function<void(Result<void>)> kept) = 0;
  /// The same of attempts that still run. `kept` gets where each frame is.
  virtual void show_logs(WorkerUpload upload, std::function<void(Result<std::vector<Bytes>>)> kept) = 0;
  /// Of these, what somebody follows; and that they have their rows.
  virtual std::vector<Token> followed(const std::vector<EndedAttempt>& ended) = 0;
  virtual void on_ended(const std::vector<Token>& tokens) = 0;

  /// Figures: how long a poll took, waiting for work included, and what it was given.
  virtual void polled(double seconds) = 0;
  virtual void leased(const std::vector<Lease>& leases) = 0;

  // From within later() only.
  virtual Result<Job> job(JobId id) = 0;
  virtual Result<ManifestInfo> manifest(ManifestId id) = 0;
  virtual Result<std::string> definition(DefinitionId id) = 0;
  /// The texts of so many items from `first` on: fewer, if they have more than `most_bytes` together or one of them
  /// cannot be read.
  virtual Result<std::vector<std::string>> item_texts(ManifestId manifest, const ManifestInfo& info, ItemIndex first,
                                                      std::uint64_t count, std::size_t most_bytes) = 0;
  /// The same of a job on a stream: what their messages say.
  virtual Result<std::vector<std::string>> message_texts(const Job& job, ItemIndex first, std::uint64_t count,
                                                         std::size_t most_bytes) = 0;
};

}  // namespace drover
