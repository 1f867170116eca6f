// An attempt in a container that runs already.
#pragma once

#include <chrono>
#include <string>

#include "run/docker/docker_attempt.h"
#include "run/docker/warm_container.h"

namespace drover {

/// Docker can start a command in a container that runs, and tell its exit code, but it can neither signal it nor wait
/// for what it left behind. SIGTERM goes to the process itself where it can be seen from here; SIGKILL takes the whole
/// container. One that failed, was stopped or left processes behind takes its container with it.
class WarmAttempt final : public DockerAttempt {
 public:
  WarmAttempt(std::shared_ptr<SlotPlace> place, std::shared_ptr<WarmContainer> container, Task task, Ended ended,
              DaemonGone daemon_gone)
      : DockerAttempt(std::move(place), std::move(task), std::move(ended), std::move(daemon_gone)),
        container_(std::move(container)) {}

 private:
  using Clock = std::chrono::steady_clock;

  void start() override { enter(1); }
  void send_stop(StopHow how) override;
  void clean_up() override;

  void enter(int tries_left);
  void run(const std::string& exec);
  void silent(const HttpAnswer& answer);
  void look(std::chrono::milliseconds wait);
  void count_left_behind(int exit_code);
  void look_for_lack_of_memory(int exit_code, int looks_left);
  void signal_container(std::string_view signal);

  std::string exec_path(std::string_view below) const;
  std::shared_ptr<WarmAttempt> self() { return std::static_pointer_cast<WarmAttempt>(shared_from_this()); }

  const std::shared_ptr<WarmContainer> container_;
  std::string exec_;  // of the command in it
  Clock::time_point started_;
  bool keeps_container_ = false;
};

}  // namespace drover
