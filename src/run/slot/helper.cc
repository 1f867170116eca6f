#include "run/slot/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "run/descendants.h"
#include "run/slot/clock.h"

namespace drover::slot {
namespace {

// An end is held back for so long at most, and only while so many tasks wait here: then there are still some to run
// while drover, which may have to wait for a processor, sends more.
constexpr int kHoldMs = 10;
constexpr int kHoldFailureMs = 2;
constexpr int kFailuresTogetherMs = 50;
// What a running attempt prints may gather for longer.
constexpr int kHoldOutputMs = 50;
constexpr std::size_t kHoldWhileQueued = 8;
constexpr std::size_t kHoldBytes = std::size_t{32} << 10;

constexpr std::size_t kMostUnsent = std::size_t{256} << 10;

constexpr int kLastKillWaitMs = 128;

constexpr std::size_t kLargeTask = std::size_t{256} << 10;

Descriptor open_child_signals() {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ended, nullptr);
  // A child that is stopped or continued is not our business.
  struct sigaction defaults{};
  defaults.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &defaults, nullptr);
  return Descriptor(::signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// Which child's end the pending signal is about; there may be others. -1: nobody's.
pid_t take_child_signal(int child_signals) {
  signalfd_siginfo info;
  if (::read(child_signals, &info, sizeof(info)) != sizeof(info)) return -1;
  const bool is_end = info.ssi_code == CLD_EXITED || info.ssi_code == CLD_KILLED || info.ssi_code == CLD_DUMPED;
  return is_end ? static_cast<pid_t>(info.ssi_pid) : -1;
}

/// Of two waits, of which -1 is one for ever.
int sooner(int one, int other) {
  if (one < 0 || other < 0) return std::max(one, other);
  return std::min(one, other);
}

bool is_large(std::span<const char> frame) {
  return frame.size() > kLargeTask;
}

}  // namespace

Helper::Helper() : child_signals_(open_child_signals()), birthplace_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

void Helper::run() {
  while (!is_told_to_end_) {
    wait_for_something();
    if (attempt_.is_over()) report_attempt();
    if (!is_told_to_end_) run_next();
    send();
    shrink();
  }
  kill_everything();
  setup_.container.discard();
  if (is_orphan()) setup_.cgroup.remove();
  if (is_orphan()) setup_.container.remove();
}

// Nobody is there any more who would tidy up after us: drover closes one half of the socket when it is done with us,
// and waits; when it dies, both halves are closed.
bool Helper::is_orphan() const {
  pollfd socket{kSlotSocket, 0, 0};
  return ::poll(&socket, 1, 0) > 0 && (socket.revents & POLLHUP) != 0;
}

void Helper::wait_for_something() {
  // In this order: a pipe that the kernel finds empty after it found the signal stays empty, unless others than the
  // first process write to it.
  const auto unsent = static_cast<short>(may_send_ && !outbox_.empty() ? POLLOUT : 0);
  // An attempt that prints faster than drover listens waits.
  const bool may_print = outbox_.unsent() < kMostUnsent;
  pollfd waits[] = {{child_signals_.get(), POLLIN, 0},
                    {may_print ? attempt_.standard_output().read_end() : -1, POLLIN, 0},
                    {may_print ? attempt_.standard_error().read_end() : -1, POLLIN, 0},
                    {kSlotSocket, static_cast<short>(POLLIN | POLLRDHUP | unsent), 0}};
  const auto& [children, standard_output, standard_error, socket] = waits;
  const int ready = ::poll(waits, std::size(waits), wait_ms());
  if (ready < 0) return;
  if (ready == 0 && attempt_.sweep_in_ms() >= 0) attempt_.sweep_again();
  attempt_.stop_if_due();
  if (ready == 0 && attempt_.is_idle() && setup_.container.idle_ms() == 0) setup_.container.discard();

  if (standard_output.revents != 0) attempt_.standard_output().take();
  if (standard_error.revents != 0) attempt_.standard_error().take();
  if (!outbox_.empty() && !is_holding_) hold(kHoldOutputMs);
  if (children.revents != 0) {
    const bool is_first_process = take_child_signal(child_signals_.get()) == attempt_.first_process();
    attempt_.reap(is_first_process && may_print && standard_output.revents == 0 && standard_error.revents == 0);
  }
  if ((socket.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) {
    is_told_to_end_ = true;
  } else if ((socket.revents & POLLIN) != 0) {
    receive();
  }
}

int Helper::wait_ms() const {
  const bool is_held = !outbox_.empty() && !may_send_;
  const int held = is_held ? static_cast<int>(std::max<std::int64_t>(send_at_ms_ - steady_ms(), 0)) : -1;
  if (attempt_.is_idle()) return sooner(setup_.container.idle_ms(), held);
  return sooner(sooner(attempt_.sweep_in_ms(), attempt_.stop_in_ms()), held);
}

void Helper::receive() {
  const std::span<char> space = inbox_.space();
  const ssize_t got = ::recv(kSlotSocket, space.data(), space.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    is_told_to_end_ = true;
    return;
  }
  inbox_.filled(static_cast<std::size_t>(got));
  for (std::span<const char> frame = inbox_.next(); !frame.empty(); frame = inbox_.next()) take_in(frame);
}

void Helper::take_in(std::span<const char> frame) {
  FrameReader reader(frame);
  switch (reader.kind()) {
    case FrameKind::limits: setup_.read_limits(frame); break;
    case FrameKind::container: setup_.container.read(frame); break;
    case FrameKind::setup:
      setup_.read(frame);
      is_in_place_ = false;
      break;
    case FrameKind::task:
      is_large_ = is_large_ || is_large(frame);
      queue_.emplace_back(frame);
      break;
    case FrameKind::stop: {
      const auto token = reader.get<Token>();
      const auto how = reader.get<StopHow>();
      const auto ran_ms = reader.get<std::int64_t>();
      run_next();  // the task it is about may have come in the same read
      if (attempt_.is_running(token)) attempt_.stop(how, ran_ms);
      break;
    }
    case FrameKind::recall: return_queued(); break;
    case FrameKind::output:
    case FrameKind::ended:
    case FrameKind::returned:
    case FrameKind::order: break;
  }
}

void Helper::return_queued() {
  for (auto it = queue_.rbegin(); it != queue_.rend(); ++it) {
    FrameWriter(outbox_.bytes(), FrameKind::returned).put(it->token());
  }
  queue_.clear();
  may_send_ = true;
}

void Helper::run_next() {
  while (attempt_.is_idle() && !queue_.empty()) {
    TaskFrame task = std::move(queue_.front());
    queue_.pop_front();
    if (is_in_workdir()) {
      attempt_.start(std::move(task), setup_);
    } else {
      attempt_.refuse(task.token(), workdir_problem_);
    }
    if (attempt_.is_over()) report_attempt();
  }
}

bool Helper::is_in_workdir() {
  if (is_in_place_) return true;
  const bool is_named = *setup_.workdir != '\0';
  if ((is_named ? ::chdir(setup_.workdir) : ::fchdir(birthplace_.get())) != 0) {
    workdir_problem_ = std::string("could not enter the working directory ") +
                       (is_named ? setup_.workdir : "of the worker") + ": " + strerrordesc_np(errno);
    return false;
  }
  is_in_place_ = true;
  return true;
}

void Helper::report_attempt() {
  const bool is_success = attempt_.report().success();
  hold(is_success ? kHoldMs : failure_hold_ms());
  ended_unsent_ = true;
}

// The first for a while is told at once: it may be the one that its job is to stop for.
int Helper::failure_hold_ms() {
  const std::int64_t now_ms = steady_ms();
  const bool is_first = now_ms >= failed_ms_ + kFailuresTogetherMs;
  failed_ms_ = now_ms;
  return is_first ? 0 : kHoldFailureMs;
}

/// What is in the outbox by now, or soon will be, goes out after this time at the latest.
void Helper::hold(int most_ms) {
  const std::int64_t at_ms = steady_ms() + most_ms;
  send_at_ms_ = is_holding_ ? std::min(send_at_ms_, at_ms) : at_ms;
  is_holding_ = true;
}

void Helper::send() {
  if (outbox_.empty()) return;
  const bool is_short_of_work = ended_unsent_ && queue_.size() < kHoldWhileQueued;
  may_send_ = may_send_ || is_short_of_work || outbox_.unsent() > kHoldBytes || steady_ms() >= send_at_ms_;
  if (!may_send_) return;
  outbox_.send();
  if (outbox_.empty()) may_send_ = is_holding_ = ended_unsent_ = false;
}

void Helper::shrink() {
  if (attempt_.is_idle() && attempt_.output().shrink()) is_large_ = true;
  if (!is_large_) return;
  if (std::any_of(queue_.begin(), queue_.end(), [](const TaskFrame& task) { return is_large(task.bytes()); })) return;
  is_large_ = false;
  // Our own peak is the least that the peak of any later item can read. Where it cannot be set back, it stays.
  const Descriptor file(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  if (file) static_cast<void>(::write(file.get(), "5", 1) == 1);
}

void Helper::kill_everything() {
  queue_.clear();
  for (int wait = 1;; wait = std::min(wait * 2, kLastKillWaitMs)) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> children = children_of(::getpid());
    if (children.empty() && ::waitpid(-1, nullptr, WNOHANG) < 0) return;
    for (const pid_t child : children) kill_tree(child);
    pollfd ended{child_signals_.get(), POLLIN, 0};
    if (::poll(&ended, 1, wait) > 0) take_child_signal(child_signals_.get());
  }
}

}  // namespace drover::slot
