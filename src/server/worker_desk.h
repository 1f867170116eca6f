// The server behind the calls of its workers: the engine, the intake of logs and those who follow them, the ledger.
#pragma once

#include "engine/engine.h"
#include "ports/worker_backend.h"
#include "server/log_followers.h"
#include "server/log_intake.h"
#include "server/metrics.h"
#include "server/read_pool.h"
#include "server/server_backend.h"

namespace drover {

class WorkerDesk : public WorkerBackend {
 public:
  struct Parts {
    ServerBackend& backend;
    ReadPool& readers;
    LogIntake& logs;
    LogFollowers& followers;
    Metrics& metrics;
  };
  explicit WorkerDesk(Parts parts) : parts_(parts) {}

  void post(Command command, std::function<void(Result<Effect>)> answered) override {
    parts_.backend.post(std::move(command), std::move(answered));
  }
  void later(std::function<void()> work) override { parts_.readers.post({}, std::move(work)); }

  void note_worker(WorkerId worker, const std::string& version) override {
    parts_.backend.note_worker(worker, version);
  }
  void note_seen(WorkerId worker) override { parts_.backend.note_seen(worker); }
  void note_version(WorkerId worker, const std::string& version) override {
    parts_.backend.note_version(worker, version);
  }
  void note_devices(WorkerId worker, std::vector<DeviceState> devices) override {
    parts_.backend.note_devices(worker, std::move(devices));
  }

  Result<void> check_logs(const Report& report) override;
  void keep_logs(ReportFrames frames, std::shared_ptr<Report> report, std::function<void(Result<void>)> kept) override;
  void show_logs(WorkerUpload upload, std::function<void(Result<std::vector<Bytes>>)> kept) override;
  std::vector<Token> followed(const std::vector<EndedAttempt>& ended) override {
    return parts_.followers.followed(ended);
  }
  void on_ended(const std::vector<Token>& tokens) override { parts_.followers.on_ended(tokens); }

  void polled(double seconds) override { parts_.metrics.polled(seconds); }
  void leased(const std::vector<Lease>& leases) override { parts_.metrics.leased(leases); }

  Result<Job> job(JobId id) override { return ReadPool::reader().job(id); }
  Result<ManifestInfo> manifest(ManifestId id) override { return ReadPool::reader().manifest(id); }
  Result<std::string> definition(DefinitionId id) override { return ReadPool::reader().definition(id); }
  Result<std::vector<std::string>> item_texts(ManifestId manifest, const ManifestInfo& info, ItemIndex first,
                                              std::uint64_t count, std::size_t most_bytes) override;
  Result<std::vector<std::string>> message_texts(const Job& job, ItemIndex first, std::uint64_t count,
                                                 std::size_t most_bytes) override;

 private:
  const Parts parts_;
};

}  // namespace drover
