// A slot as the daemon's thread has it: which task is next, and the attempt that runs.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "run/docker/docker_attempt.h"
#include "run/docker/slot_place.h"
#include "run/docker/warm_container.h"

namespace drover {

class SlotWork : public std::enable_shared_from_this<SlotWork> {
 public:
  explicit SlotWork(std::shared_ptr<SlotPlace> place);

  void start(Task task);
  void stop(Token token, StopHow how, std::int64_t ran_ms);
  void recall();
  /// Some room was made for what is printed.
  void heard();
  /// Stops all there is. `closed` when nothing of it is left.
  void close(std::function<void()> closed);

 private:
  void next();
  std::shared_ptr<DockerAttempt> make_attempt(Task task);
  void say_what_is_different(Token token);

  const std::shared_ptr<SlotPlace> place_;
  std::shared_ptr<WarmContainer> warm_;  // null: each gets a container of its own
  std::deque<Task> waiting_;
  std::shared_ptr<DockerAttempt> attempt_;
  bool is_dead_ = false;
  bool has_said_ = false;
};

}  // namespace drover
