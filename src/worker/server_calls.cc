#include "worker/server_calls.h"

#include "base/text.h"
#include "logs/extents.h"
#include "wire/problem_json.h"

namespace drover {
namespace {

// A parked poll, the next one that answers it, a report, an upload of what still runs, and one to spare.
constexpr std::size_t kThreads = 5;
constexpr std::int64_t kAnswerMs = 20'000;
constexpr std::int64_t kUploadMs = 120'000;
constexpr std::size_t kMostBytesInOne = std::size_t{4} << 20;

}  // namespace

Result<std::unique_ptr<ServerCalls>> ServerCalls::start(const MakeClient& make_client, Post post) {
  std::unique_ptr<ServerCalls> calls(new ServerCalls(std::move(post)));
  for (std::size_t i = 0; i < kThreads; ++i) {
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
                                      std::int64_t deadline_ms) {
  auto response = client.call({.method = "POST",
                               .path = concat("/worker/v1/", path),
                               .headers = {{"Content-Type", "application/x-protobuf"}},
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

void ServerCalls::poll(WorkerPoll poll, std::int64_t within_ms, std::function<void(Result<ReadyAnswer>)> done) {
  add([this, poll = std::move(poll), within_ms, done = std::move(done)](HttpClient& client) mutable {
    const auto ask = [&]() -> Result<ReadyAnswer> {
      WorkerReport report{std::move(poll.poll.report), std::move(poll.frames), std::move(poll.ended_frames)};
      if (auto sent = send_ahead(client, report); !sent) return pass(sent);
      poll = {std::move(poll.poll), std::move(report.frames), std::move(report.ended_frames)};
      poll.poll.report = std::move(report.report);
      auto body = call(client, "poll", encode(poll), within_ms);
      if (!body) return pass(body);
      auto answer = decode_poll_answer(*body);
      if (!answer) return pass(answer);
      return make_ready(client, std::move(*answer));
    };
    post_([done = std::move(done), answer = ask()]() mutable { done(std::move(answer)); });
  });
}

void ServerCalls::report(WorkerReport report, std::int64_t within_ms, std::function<void(Result<void>)> done) {
  add([this, report = std::move(report), within_ms, done = std::move(done)](HttpClient& client) mutable {
    Result<void> sent = send_ahead(client, report);
    if (sent) {
      auto body = call(client, "report", encode(report), within_ms);
      if (!body) sent = pass(body);
    }
    post_([done = std::move(done), sent = std::move(sent)] { done(sent); });
  });
}

Result<std::vector<std::string>> ServerCalls::place(HttpClient& client, const WorkerUpload& upload) {
  auto body = call(client, "logs", encode(upload), kUploadMs);
  if (!body) return pass(body);
  auto places = decode_texts(*body);
  if (!places) return pass(places);
  if (places->size() != upload.frames.size()) {
    return fail(ErrorCode::io, "the server did not say where all frames are");
  }
  return places;
}

void ServerCalls::upload(WorkerUpload upload, std::function<void(Result<std::vector<std::string>>)> done) {
  add([this, upload = std::move(upload), done = std::move(done)](HttpClient& client) {
    post_([done, places = place(client, upload)] { done(places); });
  });
}

Result<void> ServerCalls::send_ahead(HttpClient& client, WorkerReport& report) {
  std::size_t size = 0;
  for (const std::string& frame : report.frames) size += frame.size();
  if (size <= kMostBytesInOne) return {};
  std::vector<std::string> places;
  for (std::size_t at = 0; at < report.frames.size();) {
    WorkerUpload some;
    for (std::size_t bytes = 0; at < report.frames.size() && bytes < kMostBytesInOne; ++at) {
      bytes += report.frames[at].size();
      some.frames.push_back(std::move(report.frames[at]));
    }
    auto extents = place(client, some);
    if (!extents) return pass(extents);
    places.insert(places.end(), extents->begin(), extents->end());
  }
  for (std::size_t i = 0; i < report.report.ended.size(); ++i) {
    if (report.ended_frames[i].empty()) continue;
    ExtentList list = ExtentList::decode(report.report.ended[i].log.extents.value);
    for (const std::uint32_t frame : report.ended_frames[i]) {
      const ExtentList place = ExtentList::decode(places[frame]);
      for (const Extent& extent : place.all()) list.add(extent);
    }
    report.report.ended[i].log.extents = list.encode();
  }
  report.frames.clear();
  report.ended_frames.clear();
  return {};
}

Result<ReadyAnswer> ServerCalls::make_ready(HttpClient& client, WorkerPollAnswer answer) {
  ReadyAnswer ready{.leases = {},
                    .stops = std::move(answer.answer.stops),
                    .gone = std::move(answer.answer.gone),
                    .watched = std::move(answer.answer.watched),
                    .drain = answer.answer.drain};
  for (std::size_t i = 0; i < answer.answer.leases.size(); ++i) {
    auto job = learn(client, answer.answer.leases[i].job);
    if (!job) return pass(job);
    ReadyLease it{
        .lease = std::move(answer.answer.leases[i]), .job = std::move(*job), .texts = std::move(answer.items[i].texts)};
    if (answer.items[i].is_range) {
      for (std::uint64_t offset = 0; offset < it.lease.count; ++offset) {
        it.texts.push_back(std::to_string(answer.items[i].first_number + static_cast<std::int64_t>(offset)));
      }
    }
    while (it.texts.size() < it.lease.count) {
      const std::uint64_t have = it.texts.size();
      const ItemRange missing{it.lease.job, ItemIndex{it.lease.first.value + have}, it.lease.count - have};
      auto body = call(client, "items", encode(missing), kUploadMs);
      if (!body) return pass(body);
      auto texts = decode_texts(*body);
      if (!texts) return pass(texts);
      if (texts->empty()) return fail(ErrorCode::io, "the server does not say what its items are");
      for (std::string& text : *texts) it.texts.push_back(std::move(text));
    }
    ready.leases.push_back(std::move(it));
  }
  return ready;
}

Result<KnownJob> ServerCalls::learn(HttpClient& client, JobId job) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto it = jobs_.find(job); it != jobs_.end()) return it->second;
  }
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
