// drover's end of a slot whose items run by way of a Docker daemon.
#pragma once

#include <memory>
#include <vector>

#include "ports/runner.h"
#include "run/docker/docker_daemon.h"
#include "run/docker/docker_image.h"

namespace drover {

class SlotWork;
class SlotPlace;
class OomWatch;

/// Everything is passed to the daemon's thread at once: there is never anything unsent. When it goes, its containers
/// have gone, or the daemon has not answered for seconds.
class DockerSlot final : public Slot {
 public:
  DockerSlot(std::shared_ptr<DockerDaemon> daemon, std::shared_ptr<OomWatch> oom_watch, const SlotSetup& setup,
             DockerImage image, std::string number);
  ~DockerSlot() override;

  int descriptor() const override;
  bool has_unsent() const override { return false; }
  void send_more() override {}

  bool turn_to(const SlotSetup&) override { return false; }
  void start(const Task& task) override;
  void stop(Token token, StopHow how, std::int64_t ran_ms) override;
  void recall() override;
  std::vector<SlotEvent> events() override;

 private:
  const std::shared_ptr<DockerDaemon> daemon_;
  const std::shared_ptr<SlotPlace> place_;
  const std::shared_ptr<SlotWork> work_;
};

}  // namespace drover
