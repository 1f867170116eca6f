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

#include "api/service.h"
#include "keys/key_ring.h"
#include "ports/clock.h"
#include "ports/http.h"
#include "ports/worker_backend.h"
#include "wire/worker_protocol.h"

namespace drover {

class WorkerCalls : public Service {
 public:
  /// The keys that attempts get: good for `life_ms` at least from when one starts, and for as long as it may run
  /// beside.
  struct JobKeys {
    KeyRing& ring;
    std::int64_t life_ms = 0;
    std::function<std::int64_t()> now_ms;
  };

  /// `term_ms`: how long a worker may be silent before what it holds is lost.
  WorkerCalls(WorkerBackend& backend, SteadyClock& steady, std::uint64_t server, std::int64_t term_ms, JobKeys job_keys)
      : backend_(backend), steady_(steady), server_(server), term_ms_(term_ms), job_keys_(std::move(job_keys)) {}

  bool owns(const HttpHead& head) const override { return head.path.starts_with("/worker/v1/"); }
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;

  /// Those that registered before the server's last end. Before the first request.
  void know(const std::vector<Worker>& workers);
  /// Whoever worked with this key does so no more: what they hold goes back, and polls that wait are answered.
  void on_key_removed(const std::string& key_id);
  /// The job is no more.
  void forget(JobId job);
  /// The worker departed long ago.
  void forget(WorkerId worker);

 private:
  /// What is asked about a job again and again and never changes.
  struct JobFacts {
    Job job;
    ManifestInfo manifest;
  };
  using Reply = std::shared_ptr<HttpReply>;

  void handle(HttpRequest request, HttpReply reply, const Caller& caller);
  std::int64_t poll_wait_ms() const;
  void on_register(std::string_view body, const Caller& caller, Reply reply);
  void on_poll(std::string_view body, const Caller& caller, const std::string& version, const Reply& reply);
  void on_report(std::string_view body, const Caller& caller, const Reply& reply);
  void on_logs(std::string_view body, const Caller& caller, const Reply& reply);
  void on_job(std::string_view body, const Caller& caller, const Reply& reply);
  void on_items(std::string_view body, const Reply& reply);

  /// Whether a worker may speak with this key, in whose name it does. Notes that it did.
  Result<void> admit(const Caller& caller, WorkerId worker);

  /// The worker was heard, whatever becomes of its frames.
  void renew(const Report& report);
  /// Goes on when the frames are durable, with the report's extents filled in.
  void place(ReportFrames frames, std::shared_ptr<Report> report, const Reply& reply, std::function<void()> go_on);
  void give_back(WorkerId worker, std::uint64_t incarnation, const PollAnswer& answer);
  void answer_poll(PollAnswer answer, const Reply& reply);
  /// Nothing: it has to be looked up where one may wait.
  std::optional<JobFacts> known_facts(JobId job);
  Result<JobFacts> facts(JobId job);
  Result<std::vector<std::string>> texts(const JobFacts& facts, ItemIndex first, std::uint64_t count,
                                         std::size_t most_bytes);

  WorkerBackend& backend_;
  SteadyClock& steady_;
  const std::uint64_t server_;
  const std::int64_t term_ms_;
  const JobKeys job_keys_;
  /// Who a worker's number stands for, and the key it last spoke with.
  struct Known {
    std::string name;
    std::string key_id;
    std::int64_t renewed_ms = 0;  // when it was last renewed ahead of its frames
  };

  std::mutex mutex_;  // guards what follows
  std::map<JobId, JobFacts> facts_;
  std::map<WorkerId, Known> known_;
};

}  // namespace drover
