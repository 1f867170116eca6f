#include "cli/attempt_here.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/units.h"
#include "cli/write_whole.h"
#include "run/docker/docker_terminal.h"

namespace drover {
namespace {

constexpr int kSignalBase = 128;
constexpr int kTimedOut = 124;
constexpr int kNotStarted = 127;
constexpr std::int64_t kKillAgainMs = 1'000;

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Result<Descriptor> open_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT}) sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  Descriptor signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return std::unexpected(errno_error(errno, "cannot listen for signals"));
  return signals;
}

AttemptEnd end_by(int signal) {
  return {{.ending = Ending::stopped, .signal = signal, .reason = fmt::format("stopped by {}", signal_name(signal))},
          kSignalBase + signal};
}

/// 0: none.
int take_signal(int signals) {
  signalfd_siginfo info{};
  return ::read(signals, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

/// One that is about the window, not about us.
bool is_about_window(int signal) {
  return signal == SIGWINCH || signal == SIGCONT;
}

/// A slot with one task, until that is over.
class AttemptHere {
 public:
  AttemptHere(Slot& slot, Descriptor signals, const Task& task, const AttemptRules& rules, UserTerminal* terminal)
      : slot_(slot), signals_(std::move(signals)), token_(task.token), rules_(rules), terminal_(terminal) {
    if (rules_.timeout_ms > 0) stop_at_ms_ = steady_ms() + rules_.timeout_ms;
    slot_.start(task);
  }

  Result<AttemptEnd> run() {
    while (!ended_ && !died_) {
      if (slot_.has_unsent()) slot_.send_more();
      wait();
      on_time();
      if (terminal_ != nullptr && terminal_->is_left() && stopped_by_ == 0) stop_by(SIGHUP);
    }
    if (terminal_ != nullptr) terminal_->drain();
    if (ended_) return end(*ended_);
    return fail(ErrorCode::io, died_.value_or(""));
  }

 private:
  void wait() {
    const auto unsent = static_cast<short>(slot_.has_unsent() ? POLLOUT : 0);
    UserTerminal::Waits theirs = terminal_ != nullptr ? terminal_->waits() : UserTerminal::Waits{{{-1}, {-1}, {-1}}};
    std::array<pollfd, 5> waits{{{slot_.descriptor(), static_cast<short>(POLLIN | unsent), 0},
                                 {signals_.get(), POLLIN, 0},
                                 theirs[0],
                                 theirs[1],
                                 theirs[2]}};
    if (::poll(waits.data(), waits.size(), wait_ms()) < 0) return;
    std::copy(waits.begin() + 2, waits.end(), theirs.begin());
    if (terminal_ != nullptr) terminal_->on_ready(theirs);
    if (waits[1].revents != 0) on_signal();
    if (waits[0].revents == 0) return;
    for (const SlotEvent& event : slot_.events()) on_event(event);
  }

  int wait_ms() const {
    if (stop_at_ms_ == 0) return -1;
    return static_cast<int>(std::clamp<std::int64_t>(stop_at_ms_ - steady_ms(), 0, 60'000));
  }

  void on_event(const SlotEvent& event) {
    if (const auto* printed = std::get_if<AttemptPrinted>(&event)) {
      const int to = printed->stream == LogStream::out ? rules_.output : STDERR_FILENO;
      if (!write_whole(to, printed->bytes) && stopped_by_ == 0) stop_by(SIGPIPE);
    } else if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
      ended_ = ended->outcome;
      timed_out_ = timed_out_ && ended->was_stopped;
    } else if (const auto* died = std::get_if<SlotDied>(&event)) {
      died_ = died->reason;
    }
  }

  void on_signal() {
    const int signal = take_signal(signals_.get());
    if (is_about_window(signal)) {
      if (terminal_ != nullptr) terminal_->refresh();
    } else if (signal != 0) {
      stop_by(signal);
    }
  }

  void stop_by(int signal) {
    const bool at_once = terminal_ != nullptr || stopped_by_ != 0;
    stopped_by_ = signal;
    stop(at_once ? StopHow::kill : StopHow::terminate, 0);
  }

  /// Gently at first; what does not end by then is killed.
  void stop(StopHow how, std::int64_t ran_ms) {
    slot_.stop(token_, how, ran_ms);
    is_stopping_ = true;
    stop_at_ms_ = steady_ms() + (how == StopHow::terminate ? rules_.grace_ms : kKillAgainMs);
  }

  void on_time() {
    if (stop_at_ms_ == 0 || steady_ms() < stop_at_ms_) return;
    const bool is_gentle = !is_stopping_ && rules_.grace_ms > 0;
    timed_out_ = timed_out_ || !is_stopping_;
    const std::int64_t ran_ms =
        timed_out_ && stopped_by_ == 0 ? rules_.timeout_ms + (is_stopping_ ? rules_.grace_ms : 0) : 0;
    stop(is_gentle ? StopHow::terminate : StopHow::kill, ran_ms);
  }

  AttemptEnd end(const Outcome& outcome) const {
    if (stopped_by_ != 0) return end_by(stopped_by_);
    AttemptEnd end{outcome, 0};
    if (timed_out_) {
      end.outcome.ending = Ending::timed_out;
      end.outcome.reason = fmt::format("timed out after {}", format_duration_us(rules_.timeout_ms * 1000));
    }
    end.exit_status = exit_status_of(end.outcome);
    return end;
  }

  Slot& slot_;
  const Descriptor signals_;
  const Token token_;
  const AttemptRules rules_;
  UserTerminal* const terminal_;  // null: none

  std::optional<Outcome> ended_;
  std::optional<std::string> died_;
  std::int64_t stop_at_ms_ = 0;  // when it is stopped, or stopped harder; 0: never
  bool is_stopping_ = false;
  bool timed_out_ = false;
  int stopped_by_ = 0;  // a signal; 0: nobody
};

Result<AttemptEnd> run(Runner& runner, const ReadyTask& ready, const AttemptRules& rules, UserTerminal* terminal) {
  auto signals = open_signals();
  if (!signals) return pass(signals);
  auto slot = runner.open_slot(ready.setup);
  if (!slot) return pass(slot);
  return AttemptHere(**slot, std::move(*signals), ready.task, rules, terminal).run();
}

}  // namespace

int exit_status_of(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::exited: return outcome.exit_code;
    case Ending::signalled: return kSignalBase + outcome.signal;
    case Ending::timed_out: return kTimedOut;
    case Ending::not_started: return kNotStarted;
    case Ending::out_of_memory: return kSignalBase + SIGKILL;
    case Ending::stopped:
    case Ending::lost: break;
  }
  return kSomeDidNot;
}

Result<AttemptEnd> run_here(Runner& runner, const ReadyTask& ready, const AttemptRules& rules) {
  return run(runner, ready, rules, nullptr);
}

Result<AttemptEnd> run_in_terminal(Runner& runner, ReadyTask ready, UserTerminal& terminal) {
  auto socket = terminal.socket_for_item();
  if (!socket) return pass(socket);
  ready.setup.input_descriptor = socket->get();
  ready.task.wants_terminal = true;
  return run(runner, ready, {}, &terminal);
}

Result<AttemptEnd> run_in_terminal(DockerRunner& docker, const ReadyTask& ready, UserTerminal& terminal) {
  auto signals = open_signals();
  if (!signals) return pass(signals);
  auto container = DockerTerminal::start(docker.daemon(), ready.setup, ready.task);
  if (!container) return pass(container);
  terminal.join((*container)->take_stream(), [&](const winsize& size) { (*container)->resize(size); });
  while (!terminal.is_over()) {
    const UserTerminal::Waits theirs = terminal.waits();
    std::array<pollfd, 4> waits{{{signals->get(), POLLIN, 0}, theirs[0], theirs[1], theirs[2]}};
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    terminal.on_ready({waits[1], waits[2], waits[3]});
    const int signal = waits[0].revents == 0 ? 0 : take_signal(signals->get());
    if (is_about_window(signal)) {
      terminal.refresh();
    } else if (signal != 0 || terminal.is_left()) {
      return end_by(signal != 0 ? signal : SIGHUP);
    }
  }
  auto outcome = (*container)->wait();
  if (!outcome) return pass(outcome);
  return AttemptEnd{*outcome, exit_status_of(*outcome)};
}

}  // namespace drover
