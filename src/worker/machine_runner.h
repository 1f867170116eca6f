// Whatever runs items on this machine: processes, containers by an OCI runtime, containers by Docker.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "run/docker/docker_runner.h"
#include "run/process_runner.h"

namespace drover {

/// What will run a container here: the one that is asked for; if any will do, an OCI runtime where there is one, else
/// Docker where that is all there is.
ContainerRuntime runtime_for(const ContainerOptions& options);

class MachineRunner final : public Runner {
 public:
  /// `containers`: a folder for them.
  explicit MachineRunner(std::string containers) : processes_(std::move(containers)) {}

  Result<std::unique_ptr<Slot>> open_slot(const SlotSetup& setup) override;

  /// Connected when it is first wanted. From any thread.
  Result<DockerRunner*> docker();

  /// How the limits of items are held here, for people.
  std::string limits_by() const { return processes_.limits_by(); }

 private:
  ProcessRunner processes_;
  std::mutex mutex_;  // guards what follows
  std::unique_ptr<DockerRunner> docker_;
};

}  // namespace drover
