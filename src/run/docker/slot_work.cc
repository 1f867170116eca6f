#include "run/docker/slot_work.h"

#include <chrono>
#include <utility>

#include "run/docker/fresh_attempt.h"
#include "run/docker/warm_attempt.h"

namespace drover {
namespace {

bool is_warm(const ContainerOptions& options) {
  return options.reuse && options.reset == ContainerReset::none;
}

}  // namespace

SlotWork::SlotWork(std::shared_ptr<SlotPlace> place) : place_(std::move(place)) {
  if (is_warm(place_->setup.container->options)) warm_ = std::make_shared<WarmContainer>(place_);
}

void SlotWork::start(Task task) {
  if (is_dead_) return;
  waiting_.push_back(std::move(task));
  if (attempt_ == nullptr) next();
}

void SlotWork::next() {
  if (waiting_.empty() || is_dead_) return;
  Task task = std::move(waiting_.front());
  waiting_.pop_front();
  say_what_is_different(task.token);
  const std::shared_ptr<DockerAttempt> attempt = make_attempt(std::move(task));
  attempt_ = attempt;
  attempt->begin();  // it may end in there
}

std::shared_ptr<DockerAttempt> SlotWork::make_attempt(Task task) {
  auto ended = [self = shared_from_this()](AttemptEnded end) {
    self->attempt_.reset();
    self->place_->events.add(std::move(end));
    // Later: one that could not begin would otherwise begin the next one inside itself.
    self->place_->daemon.loop().post([self] {
      if (self->attempt_ == nullptr) self->next();
    });
  };
  auto daemon_gone = [self = shared_from_this()](std::string why) {
    self->attempt_.reset();
    self->is_dead_ = true;
    self->waiting_.clear();
    self->place_->events.add(SlotDied{std::move(why)});
  };
  if (warm_) return std::make_shared<WarmAttempt>(place_, warm_, std::move(task), ended, daemon_gone);
  return std::make_shared<FreshAttempt>(place_, std::move(task), ended, daemon_gone);
}

void SlotWork::say_what_is_different(Token token) {
  const ContainerOptions& options = place_->setup.container->options;
  if (std::exchange(has_said_, true) || !options.reuse || warm_) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  place_->events.print(token, LogStream::note, std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                       "[drover: Docker cannot reset a container's file system: each item gets a new container]\n");
}

void SlotWork::stop(Token token, StopHow how, std::int64_t ran_ms) {
  if (attempt_ != nullptr && attempt_->token() == token) attempt_->stop(how, std::chrono::milliseconds(ran_ms));
}

void SlotWork::recall() {
  const auto waiting = std::exchange(waiting_, {});
  for (auto it = waiting.rbegin(); it != waiting.rend(); ++it) place_->events.add(TaskReturned{it->token});
}

void SlotWork::heard() {
  if (attempt_ != nullptr) attempt_->heard();
}

void SlotWork::close(std::function<void()> closed) {
  is_dead_ = true;
  waiting_.clear();
  if (attempt_ != nullptr) std::exchange(attempt_, {})->abandon();
  if (warm_ != nullptr) warm_->discard();
  place_->when_empty(std::move(closed));
}

}  // namespace drover
