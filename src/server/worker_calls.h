// What workers ask for, below /worker/v1/: see wire/worker_protocol.h. Frames of logs become durable before the report
// that refers to them is posted.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/system_clock.h"
#include "keys/key_ring.h"
#include "ports/http.h"
#include "server/log_followers.h"
#include "server/log_intake.h"
#include "server/metrics.h"
#include "server/server_backend.h"
#include "store/manifest.h"
#include "wire/worker_protocol.h"

namespace drover {

class WorkerCalls {
 public:
  /// The keys that attempts get: good for `life_ms` at least from when one starts, and for as long as it may run
  /// beside.
  struct JobKeys {
    KeyRing& ring;
    std::int64_t life_ms = 0;
    std::function<std::int64_t()> now_ms;
  };

  /// `term_ms`: how long a worker may be silent before what it holds is lost.
  WorkerCalls(ServerBackend& backend, LogIntake& logs, LogFollowers& followers, Metrics& metrics, std::uint64_t server,
              std::int64_t term_ms, JobKeys job_keys)
      : backend_(backend),
        logs_(logs),
        followers_(followers),
        metrics_(metrics),
        server_(server),
        term_ms_(term_ms),
        job_keys_(std::move(job_keys)) {}

  static bool is_ours(std::string_view path) { return path.starts_with("/worker/v1/"); }
  /// Those that registered before the server's last end. Before the first request.
  void know(const std::vector<Worker>& workers);
  /// Whoever worked with this key does so no more: what they hold goes back, and polls that wait are answered.
  void on_key_removed(const std::string& key_id);
  /// The job is no more.
  void forget(JobId job);
  HttpBodyPlan plan(const HttpHead& head) const;
  void handle(HttpRequest request, HttpReply reply, const Caller& caller);

 private:
  /// What is asked about a job again and again and never changes.
  struct JobFacts {
    Job job;
    ManifestInfo manifest;
  };
  using Reply = std::shared_ptr<HttpReply>;
  /// Frames and what refers to them.
  struct Framed {
    std::vector<std::string> frames;
    std::vector<std::vector<std::uint32_t>> ended_frames;
  };

  std::int64_t poll_wait_ms() const;
  void on_register(std::string_view body, const Caller& caller, Reply reply);
  void on_poll(std::string_view body, const Caller& caller, const Reply& reply);
  void on_report(std::string_view body, const Caller& caller, const Reply& reply);
  void on_logs(std::string_view body, const Caller& caller, const Reply& reply);
  void on_job(std::string_view body, const Caller& caller, const Reply& reply);
  void on_items(std::string_view body, const Reply& reply);

  /// Whether a worker may speak with this key, in whose name it does. Notes that it did.
  Result<void> admit(const Caller& caller, WorkerId worker);

  /// Goes on when the frames are durable, with the report's extents filled in.
  void place(Framed framed, std::shared_ptr<Report> report, const Reply& reply, std::function<void()> go_on);
  void give_back(WorkerId worker, std::uint64_t incarnation, const PollAnswer& answer);
  void answer_poll(PollAnswer answer, const Reply& reply);
  /// Nothing: it has to be looked up where one may wait.
  std::optional<JobFacts> known_facts(JobId job);
  Result<JobFacts> facts(JobId job);
  Result<std::vector<std::string>> texts(const JobFacts& facts, ItemIndex first, std::uint64_t count,
                                         std::size_t most_bytes);

  ServerBackend& backend_;
  LogIntake& logs_;
  LogFollowers& followers_;
  Metrics& metrics_;
  SystemSteadyClock steady_;
  const std::uint64_t server_;
  const std::int64_t term_ms_;
  const JobKeys job_keys_;
  /// Who a worker's number stands for, and the key it last spoke with.
  struct Known {
    std::string name;
    std::string key_id;
  };

  std::mutex mutex_;  // guards what follows
  std::map<JobId, JobFacts> facts_;
  std::map<WorkerId, Known> known_;
};

}  // namespace drover
