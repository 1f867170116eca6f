#include "run/slot/attempt.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "run/descendants.h"

namespace drover::slot {
namespace {

// A sweep that brought nothing is repeated after a wait that doubles. At the longest, those that refuse are given up.
constexpr int kFirstSweepWaitMs = 1;
constexpr int kLastSweepWaitMs = 128;

// What is in a pipe counts as its writer's memory, and so does this process.
constexpr std::uint64_t kTightMemory = std::uint64_t{64} << 20;

constexpr std::int64_t kBlockBytes = 512;  // the unit of ru_inblock and ru_oublock

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

std::int64_t in_us(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

}  // namespace

void Attempt::start(const TaskFrame& task, Setup& setup) {
  begin(task.token());
  const bool is_tight = setup.memory_limit > 0 && setup.memory_limit < kTightMemory;
  output_.begin(token_, setup.log_limit, is_tight ? Memory::scarce : Memory::plenty);
  cgroup_ = setup.cgroup.counts_kills() ? &setup.cgroup : nullptr;
  memory_limit_ = setup.memory_limit;
  problem_ = plan_.read(task, setup.environment);
  if (problem_.empty()) problem_ = stdout_.open(plan_.stdout_path);
  if (problem_.empty()) problem_ = stderr_.open(plan_.stderr_path);
  if (problem_.empty()) {
    Launched launched = launch(plan_, setup, stdout_.write_end(), stderr_.write_end());
    pid_ = launched.pid;
    problem_ = std::move(launched.problem);
  }
  if (problem_.empty()) {
    state_ = State::running;
  } else {
    stdout_.close();
    stderr_.close();
  }
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
  sweep_wait_ms_ = kFirstSweepWaitMs;
  oom_kills_ = 0;
  usage_ = {.started_ms = clock_us(CLOCK_REALTIME) / 1'000};
  started_us_ = clock_us(CLOCK_MONOTONIC);
  notes_.clear();
}

void Attempt::stop(StopHow how) {
  was_stopped_ = was_stopped_ || state_ == State::running;
  if (how == StopHow::kill) {
    sweep();
  } else if (state_ == State::running) {
    // The first process may have left its group.
    for (const int signal : {SIGTERM, SIGCONT}) {
      if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);
    }
  }
}

void Attempt::reap(bool streams_are_drained) {
  pid_t pid = 0;
  int status = 0;
  rusage used;
  while ((pid = ::wait4(-1, &status, WNOHANG, &used)) > 0) {
    if (std::erase(left_running_, pid) > 0 || !is_live()) continue;
    add_usage(used);
    if (pid != pid_) {
      had_others_ = true;
      continue;
    }
    status_ = status;
    usage_.wall_us = clock_us(CLOCK_MONOTONIC) - started_us_;
    state_ = State::clearing;
  }
  const bool nobody_is_left = pid < 0;
  if (state_ == State::clearing && nobody_is_left) {
    finish(streams_are_drained && !had_others_);
  } else if (state_ == State::clearing || (state_ == State::running && is_killing_)) {
    sweep();
  }
}

void Attempt::sweep_again() {
  sweep_wait_ms_ = std::min(sweep_wait_ms_ * 2, kLastSweepWaitMs);
  sweep();
}

void Attempt::sweep() {
  is_killing_ = had_others_ = true;
  bool all_refused = true;
  std::vector<pid_t> left;
  for (const pid_t child : children_of(::getpid())) {
    if (std::find(left_running_.begin(), left_running_.end(), child) != left_running_.end()) continue;
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
  if (cgroup_ != nullptr) {
    const std::int64_t now = cgroup_->oom_kills();
    oom_kills_ = now - oom_kills_before_;
    oom_kills_before_ = now;
    cgroup_->renew_if_full(memory_limit_);
    if (cgroup_->is_fresh()) oom_kills_before_ = 0;
    if (oom_kills_ > 0 && status_ == 0) {
      notes_.push_back(std::to_string(oom_kills_) + " of its processes were killed for want of memory");
    }
  }
  for (const StreamCapture* stream : {&stdout_, &stderr_}) {
    if (std::string problem = stream->copy_problem(); !problem.empty()) notes_.push_back(std::move(problem));
  }
  state_ = State::over;
}

void Attempt::add_usage(const rusage& used) {
  usage_.user_us += in_us(used.ru_utime);
  usage_.system_us += in_us(used.ru_stime);
  usage_.peak_memory_kib = std::max<std::int64_t>(usage_.peak_memory_kib, used.ru_maxrss);
  usage_.read_bytes += std::int64_t{used.ru_inblock} * kBlockBytes;
  usage_.written_bytes += std::int64_t{used.ru_oublock} * kBlockBytes;
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
  if (oom_kills_ > 0 && !outcome.success()) {
    outcome.ending = Ending::out_of_memory;
    how = "out of memory: " + how + "; the kernel killed " + (WIFSIGNALED(status_) ? "it" : "a process of it") +
          (memory_limit_ > 0 ? " at its limit of " + std::to_string(memory_limit_ >> 20) + " MiB"
                             : " because the machine had none left");
    outcome.reason = how;
  }
  if (!notes_.empty()) outcome.reason = how;
  for (const std::string& note : notes_) outcome.reason += "; " + note;
  return outcome;
}

void Attempt::report() {
  const Outcome ended = outcome();
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
  state_ = State::idle;
}

}  // namespace drover::slot
