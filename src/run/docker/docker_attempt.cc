#include "run/docker/docker_attempt.h"

#include <chrono>

#include "base/text.h"
#include "run/docker/start_failure.h"

namespace drover {
namespace json = boost::json;
namespace {

// Together less than the two seconds that a daemon waits.
constexpr std::chrono::milliseconds kStallBeforeFreeze{500};
constexpr std::chrono::milliseconds kFreezePatience{500};

}  // namespace

DockerAttempt::DockerAttempt(std::shared_ptr<SlotPlace> place, Task task, Ended ended, DaemonGone daemon_gone)
    : place_(std::move(place)),
      task_(std::move(task)),
      ended_(std::move(ended)),
      daemon_gone_(std::move(daemon_gone)),
      output_(place_->events) {}

void DockerAttempt::begin() {
  usage_.started_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  std::string problem = why_not_told(place_->setup, task_);
  if (problem.empty()) problem = output_.begin(task_, place_->setup.limits.log_bytes);
  if (!problem.empty()) return not_started(std::move(problem));
  place_->usage.begin();
  start();
}

void DockerAttempt::stop(StopHow how, std::chrono::milliseconds ran) {
  if (is_over()) return;
  if (state_ == State::starting) return stops_.push_back({how, ran});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(since_ + ran - std::chrono::steady_clock::now());
  if (left.count() <= 0) return stop_now(how);
  place_->daemon.loop().after(left, [self = shared_from_this(), how] { self->stop_now(how); });
}

void DockerAttempt::stop_now(StopHow how) {
  if (is_over()) return;
  was_stopped_ = true;
  if (is_stalled_) heard();  // a frozen one cannot end
  send_stop(how);
}

void DockerAttempt::abandon() {
  if (is_over()) return;
  state_ = State::ended;
  stop_listening();
  clean_up();
}

void DockerAttempt::listen(DaemonRequest request, std::function<void()> opened, std::function<void(HttpAnswer)> ended) {
  DaemonStream stream;
  stream.opened = std::move(opened);
  stream.take = [self = shared_from_this()](std::string_view bytes) { return self->take(bytes); };
  stream_ = place_->daemon.loop().send(std::move(request), std::move(ended), std::move(stream));
}

bool DockerAttempt::take(std::string_view bytes) {
  if (output_.take(bytes)) return true;
  if (!is_stalled_) {
    is_stalled_ = true;
    place_->daemon.loop().after(kStallBeforeFreeze, [self = shared_from_this(), stall = ++stalls_] {
      if (self->is_stalled_ && self->stalls_ == stall) self->freeze();
    });
  }
  return false;
}

void DockerAttempt::freeze() {
  if (is_over() || is_frozen_) return;
  is_frozen_ = true;
  place_->ask("POST", concat("/containers/", id_, "/pause"), {},
              [self = shared_from_this()](const Result<json::value>&) {
                // It was heard meanwhile, and the daemon may have listened to that first.
                if (!self->is_frozen_ && !self->is_over()) self->thaw();
                self->take_what_is_left();
              });
  // A container that has just ended keeps its daemon from answering.
  place_->daemon.loop().after(kFreezePatience, [self = shared_from_this()] { self->take_what_is_left(); });
}

void DockerAttempt::take_what_is_left() {
  if (!is_frozen_ || is_over()) return;
  output_.take_everything(true);
  place_->daemon.loop().resume(stream_);
}

void DockerAttempt::thaw() {
  is_frozen_ = false;
  place_->ask("POST", concat("/containers/", id_, "/unpause"), {},
              [self = shared_from_this()](const Result<json::value>&) {});
}

void DockerAttempt::heard() {
  is_stalled_ = false;
  output_.take_everything(false);
  if (is_frozen_) thaw();
  place_->daemon.loop().resume(stream_);
}

void DockerAttempt::is_running() {
  state_ = State::running;
  since_ = std::chrono::steady_clock::now();
  for (const Stop& it : std::exchange(stops_, {})) stop(it.how, it.ran);
}

void DockerAttempt::not_started(std::string why) {
  report({.ending = Ending::not_started, .reason = std::move(why)});
}

void DockerAttempt::failed(const Error& error) {
  if (is_over()) return;
  stop_listening();
  if (error.code != ErrorCode::unreachable) return not_started(error.message);
  state_ = State::ended;
  clean_up();
  daemon_gone_(error.message);
}

void DockerAttempt::finish(ContainerEnd end) {
  place_->usage.add_to(usage_);
  if (const std::string message = output_.end(end.exit_code); !message.empty()) {
    return not_started(why_not_started(task_.program, message));
  }
  end.memory_limit = place_->setup.limits.memory_bytes;
  end.notes = output_.problems();
  report(outcome_of(end));
}

void DockerAttempt::report(Outcome outcome) {
  if (is_over()) return;
  state_ = State::ended;
  clean_up();
  AttemptEnded ended{task_.token,         std::move(outcome),     usage_,
                     was_stopped_,        output_.stdout_bytes(), output_.stderr_bytes(),
                     output_.copy_error()};
  ended_(std::move(ended));
}

}  // namespace drover
