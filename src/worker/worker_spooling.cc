// What a worker does with its spool: attempts that have ended go there before they are told, and while it is full no
// item is started.
#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/session_calls.h"
#include "worker/remote_worker.h"

namespace drover {

Result<void> RemoteWorker::open_spool() {
  const auto send = [this](WorkerUpload upload, const LiveLogs::Placed& placed) {
    calls_->upload(std::move(upload), [this, placed](Result<std::vector<std::string>> places) {
      if (places) busy_ms_ = now_ms();
      placed(std::move(places));
    });
  };
  auto spool = WorkerSpool::open(options_.spool, send,
                                 {.post = [this](std::function<void()> work) { loop_->post(std::move(work)); },
                                  .uploaded = [this](EndedAttempt ended) { session_->on_uploaded(std::move(ended)); },
                                  .problem =
                                      [this](const Error& problem) {
                                        if (problem.message != last_spool_problem_)
                                          notice_(concat("spool: ", problem.message));
                                        last_spool_problem_ = problem.message;
                                      }});
  if (!spool) return pass(spool);
  spool_ = std::move(*spool);
  LeftBehind left = spool_->take_over();
  if (!left.ended.empty()) {
    worker_ = left.worker;
    notice_(concat("reporting ", plural(left.ended.size(), "result"), " that an earlier process left in the spool"));
  }
  session_ =
      std::make_unique<ServerSession>(agent_, options_.hello.incarnation, std::move(left), ServerSession::Options{});
  busy_ms_ = now_ms();
  return {};
}

// What has ended is told when it is in the spool.
void RemoteWorker::spool_ended() {
  std::vector<EndedLogs::Ended> ended;
  for (EndedAttempt& it : session_->take_ended(now_ms())) {
    const auto held = held_.extract(it.token);
    DROVER_CHECK(!held.empty(), "what ends came with a lease");
    const LogKey key{held.mapped().job, it.token.item, held.mapped().attempt};
    staging_->drop(it.token);
    ended.push_back({.ended = std::move(it), .key = key});
  }
  if (ended.empty()) return;
  spool_->ended().spool(std::move(ended), {worker_, options_.hello.incarnation},
                        [this](std::vector<SpooledEnd> spooled) { session_->on_spooled(std::move(spooled)); });
}

// While the spool is full nothing more is started. While nothing can be written to it, what is not started goes back,
// and items that print wait.
void RemoteWorker::watch_spool() {
  spool_->watch(now_ms());
  if (const std::string& why = spool_->why_full(); why != holding_) {
    holding_ = why;
    agent_.hold(!why.empty(), now_ms());
    notice_(why.empty() ? "the spool has space again: starting items"
                        : concat(why, "; no items are started until there is space"));
  }
  if (spool_->stalled_ms()) agent_.return_unstarted(now_ms());
  for (const JobSlot& it : slots_) {
    // What was killed is heard to the end, which is near.
    if (it.slot) loop_->want_readable(it.slot->descriptor(), killed_ms_ || !spool_->is_behind());
  }
}

WorkerReport RemoteWorker::with_frames(AgentReport said, WorkerId worker, std::uint64_t incarnation) {
  for (const Token& token : said.returned) {
    held_.erase(token);
    staging_->drop(token);
  }
  WorkerReport out = spool_->ended().with_frames(to_report(std::move(said), worker, incarnation));
  out.devices = device_states();
  return out;
}

// Once for each attempt, and once more if not even that is taken: it is all that is ever heard of it.
void RemoteWorker::say_refused() {
  for (const ServerSession::RefusedEnd& it : session_->take_refused()) {
    const bool is_lost = it.what == ReportOutbox::Refused::What::given_up;
    notice_(concat(
        "the server rejected the report of an attempt of item ", it.token.item.value, ": ", it.why,
        is_lost ? "; its result is dropped, and the item is returned" : "; it is reported without its log and usage"));
    spool_->ended().leave_out_log(it.token);
  }
}

}  // namespace drover
