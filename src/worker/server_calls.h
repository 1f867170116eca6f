// A worker's calls to its server: blocking, on a few threads of their own, answered on the worker's loop.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "ports/http_client.h"
#include "wire/worker_protocol.h"

namespace drover {

/// What a server says of a job. Another one takes its place when its key is renewed.
using KnownJob = std::shared_ptr<const WorkerJob>;

/// What it takes to run the items of a lease.
struct LeasedWork {
  KnownJob job;
  std::vector<std::string> texts;
};

class ServerCalls {
 public:
  using MakeClient = std::function<Result<std::unique_ptr<HttpClient>>()>;
  /// Runs something on the worker's loop.
  using Post = std::function<void(std::function<void()>)>;

  /// `version`: of this program; a server that was restarted learns it from any call.
  static Result<std::unique_ptr<ServerCalls>> start(const MakeClient& make_client, Post post, std::string version);
  /// What is under way is broken off.
  ~ServerCalls();
  ServerCalls(const ServerCalls&) = delete;
  ServerCalls& operator=(const ServerCalls&) = delete;

  // Each is answered once, on the loop. What is not there within this time does not come: a thread that waited on would
  // be missing when the server is back. Uploads of logs have a time of their own.
  void hello(WorkerHello hello, std::int64_t within_ms, std::function<void(Result<WorkerWelcome>)> done);
  void poll(WorkerPoll poll, std::int64_t within_ms, std::function<void(Result<WorkerPollAnswer>)> done);
  void report(WorkerReport report, std::int64_t within_ms, std::function<void(Result<void>)> done);

  /// What these items are, and their job, if it is not known. Takes its time.
  void work(ItemRange items, std::function<void(Result<LeasedWork>)> done);
  /// The job, if it was told before.
  KnownJob known(JobId job);

  /// Frames of logs. Gets where each of them is.
  void upload(WorkerUpload upload, std::function<void(Result<std::vector<std::string>>)> done);

  /// The job with a fresh key.
  void job(JobId job, std::function<void(Result<KnownJob>)> done);
  /// The next lease of this job comes with it told anew.
  void forget(JobId job);

 private:
  ServerCalls(Post post, std::string version) : post_(std::move(post)), version_(std::move(version)) {}

  void add(std::function<void(HttpClient&)> work);
  void run(HttpClient& client);
  Result<std::string> call(HttpClient& client, const std::string& path, std::string body,
                           std::int64_t deadline_ms) const;
  Result<LeasedWork> fetch(HttpClient& client, ItemRange items);
  Result<KnownJob> learn(HttpClient& client, JobId job);
  Result<KnownJob> ask_about(HttpClient& client, JobId job);
  Result<std::vector<std::string>> place(HttpClient& client, const WorkerUpload& upload);

  const Post post_;
  const std::string version_;
  std::vector<std::unique_ptr<HttpClient>> clients_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  std::deque<std::function<void(HttpClient&)>> work_;
  std::map<JobId, KnownJob> jobs_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover
