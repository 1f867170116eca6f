// How a worker exits: when it was told to, by a signal, by its server or by its options, and whatever its disk and its
// server do meanwhile.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "worker/remote_worker.h"

namespace drover {
namespace {

constexpr std::int64_t kGoodbyeMs = 2'000;
// A worker that is to exit waits this long for a server that is away, longer than a poll may wait; this long for a disk
// that is full; and this long for everything when it was told to kill what runs.
constexpr std::int64_t kFarewellMs = 30'000;
constexpr std::int64_t kFullDiskMs = 5'000;
constexpr std::int64_t kLastWordsMs = 10'000;
// What still runs so long before the machine goes is killed: that, and telling the server, take their time.
constexpr std::int64_t kBeforeTheEndMs = 5'000;

}  // namespace

// So that it is known to be gone at once, not when its lease is over. An older server takes it for a report.
void RemoteWorker::say_goodbye() {
  if (!session_->registered()) return;
  bool answered = false;
  Report last{.worker = worker_, .incarnation = options_.hello.incarnation};
  last.leaving = Leaving::gone;
  calls_->report({.report = std::move(last), .frames = {}, .ended_frames = {}}, kGoodbyeMs,
                 [&answered](const Result<void>&) { answered = true; });
  const std::int64_t until_ms = now_ms() + kGoodbyeMs;
  while (!answered && now_ms() < until_ms) loop_->turn(until_ms - now_ms());
}

bool RemoteWorker::finished() const {
  return failed_ || (agent_.draining() && session_->all_told()) || interrupts_ > 2;
}

// A worker that is to exit does so, whatever its disk and its server do.
void RemoteWorker::give_up_when_late() {
  if (!agent_.draining() || failed_ || session_->all_told()) return;
  if (!leaving_ms_) leaving_ms_ = now_ms();
  const auto stalled_ms = spool_->stalled_ms();
  const bool is_hopeless = stalled_ms && now_ms() >= *stalled_ms + kFullDiskMs;
  const bool is_running = !agent_.running().empty();
  if (is_hopeless && is_running && !killed_ms_) kill_running();
  if (is_running && !killed_ms_) busy_ms_ = now_ms();
  const std::int64_t waiting_ms = std::max(busy_ms_, *leaving_ms_);
  const bool is_late = now_ms() >= (killed_ms_ ? *killed_ms_ + kLastWordsMs : waiting_ms + kFarewellMs);
  if (!is_late && (!is_hopeless || is_running)) return;
  if (stalled_ms) {
    failed_ = Error{ErrorCode::no_space, concat("stopped, and its items were returned: ", spool_->why_full()),
                    "free some space, then start the worker again"};
  } else {
    const std::string kept = session_->untold() == 0
                                 ? "its items go to other workers when their lease expires"
                                 : concat("kept in ", options_.spool, ": ", plural(session_->untold(), "result"));
    failed_ = Error{ErrorCode::unreachable, concat("stopped before all results were reported; ", kept),
                    "start the worker again when the server is reachable: it reports the kept results"};
  }
}

// A server that is away may come back, and finds what ran meanwhile. One whose workers' folders are deleted does not:
// nobody can tell the worker to end any more.
void RemoteWorker::end_if_abandoned() {
  const std::string folder = std::filesystem::path(options_.spool).parent_path();
  if (failed_ || ::access(folder.c_str(), F_OK) == 0 || errno != ENOENT) return;
  failed_ = Error{ErrorCode::not_found,
                  concat("stopped: the server cannot be reached, and the worker's folder ", folder, " was deleted"),
                  "start the worker again when the server is reachable"};
}

void RemoteWorker::kill_running() {
  notice_(concat("killing ", plural(agent_.running().size(), "running item")));
  agent_.kill_all(now_ms());
  killed_ms_ = now_ms();
}

std::int64_t RemoteWorker::kill_at_ms() const {
  return *taken_away_ms_ - kBeforeTheEndMs;
}

void RemoteWorker::on_interruption(const Interruption& told) {
  notice_(concat(told.what, "; this worker takes no new items"));
  const std::int64_t left_ms = told.at_ms - SystemWallClock().epoch_ms();
  if (told.at_ms > 0) taken_away_ms_ = now_ms() + left_ms;
  agent_.on_interruption(taken_away_ms_ ? kill_at_ms() : 0, now_ms());
}

void RemoteWorker::on_signal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != sizeof info) return;
  ++interrupts_;
  const auto running = agent_.running().size();
  if (interrupts_ == 1) {
    // A machine that shuts down sends SIGTERM, and soon kills: items that save their state on a notice do it now.
    if (info.ssi_signo == SIGTERM) {
      agent_.on_interruption(0, now_ms());
    } else {
      agent_.drain(now_ms());
    }
    notice_(running == 0 ? "stopping"
                         : concat("draining: ", plural(running, "item"),
                                  " still running; send the signal again to kill ", running == 1 ? "it" : "them"));
  } else {
    kill_running();
  }
}

}  // namespace drover
