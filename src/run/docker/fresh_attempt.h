// An attempt in a container of its own.
#pragma once

#include <chrono>
#include <string>

#include "run/docker/docker_attempt.h"

namespace drover {

/// Create, listen, start; when there is no more to hear: wait, inspect, remove. Listening begins first, so that nothing
/// is missed.
class FreshAttempt final : public DockerAttempt {
 public:
  using DockerAttempt::DockerAttempt;

 private:
  void start() override;
  void send_stop(StopHow how) override;
  void clean_up() override;

  void created(const std::string& id);
  void run();
  void silent(const HttpAnswer& answer);
  /// Both: it was started, and there is no more to hear.
  void conclude_if_done();
  void inspect(int exit_code, int looks_left);
  void sample_usage(std::chrono::milliseconds wait);

  std::string path(std::string_view below) const;
  std::shared_ptr<FreshAttempt> self() { return std::static_pointer_cast<FreshAttempt>(shared_from_this()); }

  bool is_started_ = false;
  bool is_silent_ = false;
};

}  // namespace drover
