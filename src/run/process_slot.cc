#include "run/process_slot.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "run/live_helpers.h"
#include "run/slot_protocol.h"

namespace drover {
namespace {

// How long a helper may take to kill what it runs before it is killed itself.
constexpr std::chrono::milliseconds kPatience{5'000};

// At one time, so that an attempt that prints without end leaves time for others.
constexpr std::size_t kMostTaken = std::size_t{512} << 10;

constexpr std::size_t kKeptOutboxBytes = std::size_t{64} << 10;

std::optional<SlotEvent> read_event(std::span<const char> bytes) {
  FrameReader frame(bytes);
  std::optional<SlotEvent> event;
  if (frame.kind() == FrameKind::returned) {
    event = TaskReturned{frame.get<Token>()};
  } else if (frame.kind() == FrameKind::output) {
    AttemptPrinted printed;
    printed.token = frame.get<Token>();
    printed.stream = frame.get<LogStream>();
    printed.time_ms = frame.get<std::int64_t>();
    printed.bytes = frame.rest();
    event = std::move(printed);
  } else if (frame.kind() == FrameKind::ended) {
    AttemptEnded ended;
    ended.token = frame.get<Token>();
    ended.outcome.ending = frame.get<Ending>();
    ended.outcome.exit_code = frame.get<std::int32_t>();
    ended.outcome.signal = frame.get<std::int32_t>();
    ended.was_stopped = frame.get<bool>();
    ended.usage = frame.get<Usage>();
    ended.outcome.reason = frame.text();
    ended.stdout_bytes = frame.get<std::uint64_t>();
    ended.stderr_bytes = frame.get<std::uint64_t>();
    ended.copy_error = frame.get<std::int32_t>();
    event = std::move(ended);
  }
  return frame.intact() ? std::move(event) : std::nullopt;
}

Outcome outcome_of(int status) {
  if (WIFSIGNALED(status)) return {.ending = Ending::signalled, .signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

/// A program in a container expects one.
std::vector<std::string> with_home(std::vector<std::string> environment, const std::string& home) {
  const bool has_one = std::ranges::any_of(environment, [](const std::string& it) { return it.starts_with("HOME="); });
  if (!has_one && !home.empty()) environment.insert(environment.begin(), "HOME=" + home);
  return environment;
}

}  // namespace

ProcessSlot::ProcessSlot(pid_t helper, Descriptor socket, const SlotSetup& setup, Enforcement enforcement,
                         ContainerBox box)
    : helper_(helper),
      socket_(std::move(socket)),
      hold_descriptor_(setup.hold_descriptor),
      device_lock_(setup.device_lock),
      input_descriptor_(setup.input_descriptor),
      limits_(setup.limits),
      cgroup_(std::move(enforcement.cgroup)),
      box_(std::move(box)) {
  {
    FrameWriter frame(outbox_, FrameKind::limits);
    frame.put(setup.limits.memory_bytes);
    frame.put(enforcement.address_space);
    frame.put(enforcement.processes);
    frame.put(enforcement.has_processors);
    frame.put(enforcement.processors);
    frame.texts(cgroup_.join);
    frame.text(cgroup_.clone_into);
    frame.text(cgroup_.kill_counts);
  }
  outbox_ += box_.frame();
  tell(setup);
  send_more();
}

void ProcessSlot::tell(const SlotSetup& setup) {
  FrameWriter frame(outbox_, FrameKind::setup);
  frame.text(box_ ? box_.folder() : setup.workdir);
  frame.texts(box_ ? with_home(setup.environment, box_.home()) : setup.environment);
  frame.put(setup.limits.log_bytes);
  frame.put(setup.limits.nice);
}

bool ProcessSlot::turn_to(const SlotSetup& setup) {
  const ItemLimits& wanted = setup.limits;
  const bool is_held_alike = wanted.memory_bytes == limits_.memory_bytes && wanted.milli_cpus == limits_.milli_cpus &&
                             wanted.processes == limits_.processes;
  if (is_dead() || box_ || setup.container || !is_held_alike || setup.hold_descriptor != hold_descriptor_ ||
      setup.device_lock != device_lock_ || setup.input_descriptor != input_descriptor_) {
    return false;
  }
  tell(setup);
  return true;
}

ProcessSlot::~ProcessSlot() {
  if (is_dead()) return;
  // Half closed, so that the end of the helper can be seen on the other half.
  ::shutdown(socket_.get(), SHUT_WR);
  wake();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::vector<SlotEvent> unwanted;
  while (receive(unwanted) == Stream::open) {
    unwanted.clear();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    pollfd wait{socket_.get(), POLLIN, 0};
    ::poll(&wait, 1, static_cast<int>(left.count()));
  }
  bury();
}

void ProcessSlot::start(const Task& task) {
  DROVER_CHECK(!task.arguments.empty(), "a task's arguments begin with its own name");
  if (is_dead()) return;
  FrameWriter frame(outbox_, FrameKind::task);
  frame.put(task.token);
  frame.text(task.program);
  frame.text(task.stdout_path);
  frame.text(task.stderr_path);
  frame.put(task.wants_terminal);
  frame.texts(task.arguments);
  frame.texts(task.environment);
}

void ProcessSlot::stop(Token token, StopHow how, std::int64_t ran_ms) {
  if (is_dead()) return;
  wake();
  FrameWriter frame(outbox_, FrameKind::stop);
  frame.put(token);
  frame.put(how);
  frame.put(ran_ms);
}

void ProcessSlot::recall() {
  if (is_dead()) return;
  wake();
  FrameWriter(outbox_, FrameKind::recall);
}

// An item can stop its helper, which would then hear nothing.
void ProcessSlot::wake() const {
  ::kill(helper_, SIGCONT);
}

void ProcessSlot::send_more() {
  if (!has_unsent()) return;
  ssize_t sent = 0;
  do sent = ::send(socket_.get(), outbox_.data() + sent_, outbox_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)) return;
  // Any other error means that the helper is gone: events() will find that out, and nobody wants the rest.
  sent_ = sent < 0 ? outbox_.size() : sent_ + static_cast<std::size_t>(sent);
  if (has_unsent()) return;
  outbox_.clear();
  if (outbox_.capacity() > kKeptOutboxBytes) outbox_.shrink_to_fit();
  sent_ = 0;
}

std::vector<SlotEvent> ProcessSlot::events() {
  std::vector<SlotEvent> events;
  if (!is_dead() && receive(events) == Stream::ended) events.emplace_back(bury());
  return events;
}

ProcessSlot::Stream ProcessSlot::receive(std::vector<SlotEvent>& events) {
  for (std::size_t taken = 0; taken < kMostTaken;) {
    const std::span<char> space = inbox_.space();
    const ssize_t got = ::recv(socket_.get(), space.data(), space.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Stream::open;
    if (got <= 0) return Stream::ended;
    inbox_.filled(static_cast<std::size_t>(got));
    taken += static_cast<std::size_t>(got);
    for (std::span<const char> frame = inbox_.next(); !frame.empty(); frame = inbox_.next()) {
      std::optional<SlotEvent> event = read_event(frame);
      if (!event) return Stream::ended;
      events.push_back(std::move(*event));
    }
    // Less than there was room for: that was all.
    if (static_cast<std::size_t>(got) < space.size()) break;
  }
  return Stream::open;
}

SlotDied ProcessSlot::bury() {
  const int status = LiveHelpers::of_this_process().bury(helper_);
  cgroup_.remove();
  box_.remove();
  helper_ = kNobody;
  outbox_.clear();
  sent_ = 0;
  return {concat("the slot's helper process has ended: ", describe(outcome_of(status)))};
}

}  // namespace drover
