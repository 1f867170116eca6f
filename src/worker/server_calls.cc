#include "worker/server_calls.h"

#include "base/text.h"
#include "wire/problem_json.h"

namespace drover {
namespace {

// A parked poll, the next one that answers it, a report, an upload of logs, what items are, a fresh key.
constexpr std::size_t kCallThreads = 6;
constexpr std::int64_t kAnswerMs = 20'000;
constexpr std::int64_t kUploadMs = 120'000;

}  // namespace

Result<std::unique_ptr<ServerCalls>> ServerCalls::start(const MakeClient& make_client, Post post, std::string version) {
  std::unique_ptr<ServerCalls> calls(new ServerCalls(std::move(post), std::move(version)));
  for (std::size_t i = 0; i < kCallThreads; ++i) {
    auto client = make_client();
    if (!client) return pass(client);
    calls->clients_.push_back(std::move(*client));
  }
  for (const auto& client : calls->clients_) {
    calls->threads_.emplace_back([it = calls.get(), &client = *client] { it->run(client); });
  }
  return calls;
}

ServerCalls::~ServerCalls() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wakes_.notify_all();
  for (const auto& client : clients_) client->abort();
  for (std::thread& thread : threads_) thread.join();
}

void ServerCalls::add(std::function<void(HttpClient&)> work) {
  {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
  }
  wakes_.notify_one();
}

void ServerCalls::run(HttpClient& client) {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [&] { return !work_.empty() || closing_; });
    if (closing_) return;
    const auto work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work(client);
    lock.lock();
  }
}

Result<std::string> ServerCalls::call(HttpClient& client, const std::string& path, std::string body,
                                      std::int64_t deadline_ms) const {
  auto response = client.call({.method = "POST",
                               .path = concat("/worker/v1/", path),
                               .headers = {{"Content-Type", "application/x-protobuf"}, {"Drover-Version", version_}},
                               .body = std::move(body),
                               .body_source = {},
                               .take = {},
                               .deadline_ms = deadline_ms});
  if (!response) return pass(response);
  if (response->status != 200) return std::unexpected(error_from_problem(response->status, response->body));
  return std::move(response->body);
}

void ServerCalls::hello(WorkerHello hello, std::int64_t within_ms, std::function<void(Result<WorkerWelcome>)> done) {
  add([this, hello = std::move(hello), within_ms, done = std::move(done)](HttpClient& client) {
    Result<WorkerWelcome> welcome = fail(ErrorCode::io, "");
    if (auto body = call(client, "register", encode(hello), within_ms)) {
      welcome = decode_welcome(*body);
    } else {
      welcome = pass(body);
    }
    post_([done, welcome = std::move(welcome)] { done(welcome); });
  });
}

void ServerCalls::poll(WorkerPoll poll, std::int64_t within_ms, std::function<void(Result<WorkerPollAnswer>)> done) {
  add([this, poll = std::move(poll), within_ms, done = std::move(done)](HttpClient& client) mutable {
    auto body = call(client, "poll", encode(poll), within_ms);
    Result<WorkerPollAnswer> answer = body ? decode_poll_answer(*body) : std::unexpected(body.error());
    post_([done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
  });
}

void ServerCalls::report(WorkerReport report, std::int64_t within_ms, std::function<void(Result<void>)> done) {
  add([this, report = std::move(report), within_ms, done = std::move(done)](HttpClient& client) mutable {
    Result<void> sent;
    if (auto body = call(client, "report", encode(report), within_ms); !body) sent = pass(body);
    post_([done = std::move(done), sent = std::move(sent)] { done(sent); });
  });
}

Result<std::vector<std::string>> ServerCalls::place(HttpClient& client, const WorkerUpload& upload) {
  auto body = call(client, "logs", encode(upload), kUploadMs);
  if (!body) return pass(body);
  auto places = decode_texts(*body);
  if (!places) return pass(places);
  if (places->size() != upload.frames.size()) {
    return fail(ErrorCode::io, "the server's response lacks the positions of some frames");
  }
  return places;
}

void ServerCalls::upload(WorkerUpload upload, std::function<void(Result<std::vector<std::string>>)> done) {
  add([this, upload = std::move(upload), done = std::move(done)](HttpClient& client) {
    post_([done, places = place(client, upload)] { done(places); });
  });
}

void ServerCalls::work(ItemRange items, std::function<void(Result<LeasedWork>)> done) {
  add([this, items, done = std::move(done)](HttpClient& client) {
    post_([done, work = fetch(client, items)]() mutable { done(std::move(work)); });
  });
}

Result<LeasedWork> ServerCalls::fetch(HttpClient& client, ItemRange items) {
  auto job = learn(client, items.job);
  if (!job) return pass(job);
  LeasedWork out{.job = std::move(*job), .texts = {}};
  while (out.texts.size() < items.count) {
    const std::uint64_t have = out.texts.size();
    auto body = call(client, "items",
                     encode(ItemRange{items.job, ItemIndex{items.first.value + have}, items.count - have}), kUploadMs);
    // What came before a text that cannot be read is good.
    if (!body && !out.texts.empty()) break;
    if (!body) return pass(body);
    auto texts = decode_texts(*body);
    if (!texts) return pass(texts);
    if (texts->empty() || texts->size() > items.count - have) {
      return fail(ErrorCode::io, "the server's response does not contain the items");
    }
    for (std::string& text : *texts) out.texts.push_back(std::move(text));
  }
  return out;
}

KnownJob ServerCalls::known(JobId job) {
  const std::scoped_lock lock(mutex_);
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : it->second;
}

Result<KnownJob> ServerCalls::learn(HttpClient& client, JobId job) {
  if (KnownJob it = known(job)) return it;
  return ask_about(client, job);
}

Result<KnownJob> ServerCalls::ask_about(HttpClient& client, JobId job) {
  auto body = call(client, "job", encode_job_number(job), kAnswerMs);
  if (!body) return pass(body);
  auto info = decode_job(*body);
  if (!info) return pass(info);
  const std::scoped_lock lock(mutex_);
  return jobs_[job] = std::make_shared<const WorkerJob>(std::move(*info));
}

void ServerCalls::job(JobId job, std::function<void(Result<KnownJob>)> done) {
  add([this, job, done = std::move(done)](HttpClient& client) {
    post_([done, answer = ask_about(client, job)] { done(answer); });
  });
}

void ServerCalls::forget(JobId job) {
  const std::scoped_lock lock(mutex_);
  jobs_.erase(job);
}

}  // namespace drover
