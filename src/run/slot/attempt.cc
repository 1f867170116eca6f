#include "run/slot/attempt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "run/descendants.h"
#include "run/slot/clock.h"
#include "run/slot/rusage.h"

namespace drover::slot {
namespace {

// A sweep that brought nothing is repeated after a wait that doubles. At the longest, those that refuse are given up.
constexpr int kFirstSweepWaitMs = 1;
constexpr int kLastSweepWaitMs = 128;
constexpr std::int64_t kLongestWaitMs = 60'000;

// What is in a pipe counts as its writer's memory, and so does this process.
constexpr std::uint64_t kTightMemory = std::uint64_t{64} << 20;

}  // namespace

void Attempt::start(TaskFrame task, Setup& setup) {
  begin(task.token());
  task_ = std::move(task);
  setup_ = &setup;
  container_ = setup.container.is_wanted() ? &setup.container : nullptr;
  const bool is_tight = setup.memory_limit > 0 && setup.memory_limit < kTightMemory;
  output_.begin(token_, setup.log_limit, is_tight ? Memory::scarce : Memory::plenty);
  cgroup_ = setup.cgroup.counts_kills() ? &setup.cgroup : nullptr;
  memory_limit_ = setup.memory_limit;
  problem_ = plan_.read(*task_, setup.environment);
  if (problem_.empty()) problem_ = stdout_.open(plan_.stdout_path);
  if (problem_.empty()) problem_ = stderr_.open(plan_.stderr_path);
  if (problem_.empty()) {
    const int out = stdout_.write_end();
    const int err = stderr_.write_end();
    Launched launched =
        container_ != nullptr ? container_->start(plan_, setup, out, err) : launch(plan_, setup, out, err);
    pid_ = launched.pid;
    problem_ = std::move(launched.problem);
  }
  if (!is_starting()) task_.reset();
  if (problem_.empty()) {
    state_ = State::running;
  } else {
    if (container_ != nullptr) container_->put_away(false);
    stdout_.close();
    stderr_.close();
  }
}

// The runtime has done its work, or could not.
void Attempt::on_started(int status) {
  Launched launched = container_->started(status, plan_, *setup_, stdout_.write_end(), stderr_.write_end());
  task_.reset();
  pid_ = launched.pid;
  if (pid_ < 0) {
    // One that was killed on the way ended like one that ran.
    if (was_stopped_) status_ = SIGKILL;
    if (!was_stopped_) problem_ = std::move(launched.problem);
    state_ = State::clearing;
    return;
  }
  running_since_us_ = clock_us(CLOCK_MONOTONIC);
  if (stop_later_) stop_now(*stop_later_);
  for (const EarlyEnd& it : std::exchange(early_, {})) take_end(it.pid, it.status, it.used);
}

void Attempt::refuse(Token token, std::string why) {
  begin(token);
  problem_ = std::move(why);
}

void Attempt::begin(Token token) {
  state_ = State::over;
  token_ = token;
  stdout_.forget();
  stderr_.forget();
  pid_ = -1;
  was_stopped_ = had_others_ = is_killing_ = false;
  status_ = 0;
  stop_later_.reset();
  due_stops_.clear();
  early_.clear();
  sweep_wait_ms_ = kFirstSweepWaitMs;
  oom_kills_ = 0;
  usage_ = {.started_ms = clock_us(CLOCK_REALTIME) / 1'000};
  started_us_ = running_since_us_ = clock_us(CLOCK_MONOTONIC);
  notes_.clear();
}

// The time of one whose container is being started has not begun.
void Attempt::stop(StopHow how, std::int64_t ran_ms) {
  if (ran_ms <= 0) return stop_now(how);
  std::erase_if(due_stops_, [&](const DueStop& it) { return it.how == how; });
  due_stops_.push_back({how, ran_ms * 1'000});
  stop_if_due();
}

void Attempt::stop_if_due() {
  if (due_stops_.empty() || !is_live() || is_starting()) return;
  const std::int64_t ran_us = clock_us(CLOCK_MONOTONIC) - running_since_us_;
  for (const DueStop& it : std::exchange(due_stops_, {})) {
    if (ran_us < it.ran_us) {
      due_stops_.push_back(it);
    } else {
      stop_now(it.how);
    }
  }
}

int Attempt::stop_in_ms() const {
  if (due_stops_.empty() || !is_live() || is_starting()) return -1;
  const std::int64_t first_us = std::ranges::min(due_stops_, {}, &DueStop::ran_us).ran_us;
  const std::int64_t left_us = running_since_us_ + first_us - clock_us(CLOCK_MONOTONIC);
  return static_cast<int>(std::clamp<std::int64_t>((left_us + 999) / 1'000, 0, kLongestWaitMs));
}

bool Attempt::is_starting() const {
  return container_ != nullptr && container_->is_starting();
}

void Attempt::stop_now(StopHow how) {
  was_stopped_ = was_stopped_ || state_ == State::running;
  if (how == StopHow::kill) {
    sweep();
  } else if (is_starting()) {
    stop_later_ = how;
  } else if (state_ == State::running) {
    // The first process may have left its group.
    for (const int signal : {container_ != nullptr ? container_->stop_signal() : SIGTERM, SIGCONT}) {
      if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);
    }
  }
}

void Attempt::reap(bool streams_are_drained) {
  // While its container was being started nobody has looked at what it prints.
  const bool was_starting = is_starting();
  pid_t pid = 0;
  int status = 0;
  rusage used;
  while ((pid = ::wait4(-1, &status, WNOHANG, &used)) > 0) {
    if (std::erase(left_running_, pid) > 0) continue;
    if (container_ != nullptr) container_->on_ended(pid);
    if (is_live()) take_end(pid, status, used);
  }
  const bool is_warm = container_ != nullptr && container_->is_warm();
  if (state_ == State::clearing && (is_warm ? container_->is_cleared() : pid < 0)) {
    finish(streams_are_drained && !had_others_ && !was_starting);
  } else if (state_ == State::clearing || (state_ == State::running && is_killing_)) {
    sweep();
  }
}

void Attempt::take_end(pid_t pid, int status, const rusage& used) {
  if (pid == pid_ && is_starting()) return on_started(status);
  if (is_starting()) return early_.push_back({pid, status, used});
  add_usage(usage_, used);
  if (pid != pid_) {
    had_others_ = true;
    return;
  }
  status_ = status;
  usage_.wall_us = clock_us(CLOCK_MONOTONIC) - started_us_;
  state_ = State::clearing;
}

// Of a container's first process only what it says counts: it had to begin as the runtime.
void Attempt::read_last_words() {
  LastWords words;
  std::string reason;
  if (!container_->last_words(words, reason)) return;
  if (!words.is_started) {
    problem_ = std::move(reason);
    return;
  }
  status_ = words.status;
  usage_.user_us = words.usage.user_us;
  usage_.system_us = words.usage.system_us;
  usage_.peak_memory_kib = words.usage.peak_memory_kib;
  usage_.read_bytes = words.usage.read_bytes;
  usage_.written_bytes = words.usage.written_bytes;
}

void Attempt::sweep_again() {
  sweep_wait_ms_ = std::min(sweep_wait_ms_ * 2, kLastSweepWaitMs);
  sweep();
}

void Attempt::sweep() {
  is_killing_ = had_others_ = true;
  // What an item leaves in a warm container is not our child.
  if (state_ == State::clearing && container_ != nullptr && container_->is_warm()) {
    if (container_->is_cleared()) finish(false);
    return;
  }
  bool all_refused = true;
  std::vector<pid_t> left;
  for (const pid_t child : children_of(::getpid())) {
    if (std::find(left_running_.begin(), left_running_.end(), child) != left_running_.end()) continue;
    if (container_ != nullptr && container_->is_first_process(child)) continue;
    left.push_back(child);
    if (kill_tree(child) == KillResult::sent) all_refused = false;
  }
  if (state_ != State::clearing || !all_refused) return;
  if (!left.empty() && sweep_wait_ms_ < kLastSweepWaitMs) return;
  for (const pid_t pid : left) {
    notes_.push_back("left process " + std::to_string(pid) + " running: not allowed to kill it");
  }
  left_running_.insert(left_running_.end(), left.begin(), left.end());
  finish(false);
}

void Attempt::finish(bool streams_are_drained) {
  if (!streams_are_drained) {
    stdout_.drain();
    stderr_.drain();
  }
  stdout_.close();
  stderr_.close();
  output_.end();
  if (container_ != nullptr) {
    if (problem_.empty()) read_last_words();
    oom_kills_ = container_->oom_kills();
    container_->put_away(problem_.empty() && status_ == 0);
  } else if (cgroup_ != nullptr) {
    const std::int64_t now = cgroup_->oom_kills();
    oom_kills_ = now - oom_kills_before_;
    oom_kills_before_ = now;
    cgroup_->renew_if_full(memory_limit_);
    if (cgroup_->is_fresh()) oom_kills_before_ = 0;
  }
  if (oom_kills_ > 0 && status_ == 0) {
    notes_.push_back(std::to_string(oom_kills_) + " of its processes were killed: out of memory");
  }
  for (const StreamCapture* stream : {&stdout_, &stderr_}) {
    if (std::string problem = stream->copy_problem(); !problem.empty()) notes_.push_back(std::move(problem));
  }
  state_ = State::over;
}

Outcome Attempt::outcome() const {
  if (!problem_.empty()) return {.ending = Ending::not_started, .reason = problem_};
  Outcome outcome;
  std::string how;
  if (WIFSIGNALED(status_)) {
    outcome.ending = Ending::signalled;
    outcome.signal = WTERMSIG(status_);
    how = "killed by signal " + std::to_string(outcome.signal);
  } else {
    outcome.exit_code = WEXITSTATUS(status_);
    how = "exited with code " + std::to_string(outcome.exit_code);
  }
  // As every container runtime tells it.
  if (container_ != nullptr && WIFSIGNALED(status_)) {
    outcome = {.exit_code = kSignalBase + WTERMSIG(status_), .reason = how};
  }
  if (oom_kills_ > 0 && !outcome.success()) {
    outcome.ending = Ending::out_of_memory;
    how = "out of memory: " + how + "; the kernel killed " + (WIFSIGNALED(status_) ? "it" : "one of its processes") +
          (memory_limit_ > 0 ? " at its limit of " + std::to_string(memory_limit_ >> 20) + " MiB"
                             : " because the machine had no memory left");
    outcome.reason = how;
  }
  if (!notes_.empty()) outcome.reason = how;
  for (const std::string& note : notes_) outcome.reason += "; " + note;
  return outcome;
}

Outcome Attempt::report() {
  Outcome ended = outcome();
  FrameWriter frame(outbox_.bytes(), FrameKind::ended);
  frame.put(token_);
  frame.put(ended.ending);
  frame.put(ended.exit_code);
  frame.put(ended.signal);
  frame.put(was_stopped_);
  frame.put(usage_);
  frame.text(ended.reason);
  frame.put(stdout_.bytes());
  frame.put(stderr_.bytes());
  frame.put(std::int32_t{stdout_.copy_error() != 0 ? stdout_.copy_error() : stderr_.copy_error()});
  state_ = State::idle;
  return ended;
}

}  // namespace drover::slot
