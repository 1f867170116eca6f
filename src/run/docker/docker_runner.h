// Attempts in containers of this machine's Docker daemon.
#pragma once

#include <memory>
#include <string>

#include "ports/runner.h"
#include "run/docker/docker_daemon.h"
#include "run/docker/docker_image.h"
#include "run/docker/oom_watch.h"

namespace drover {

/// Opens slots that run each task in a fresh container, or, where the plan says `reuse` without a reset, each as a
/// command in one container that stays.
///
/// One thread, `docker` (HttpLoop), speaks with the daemon for all its slots and owns all that they are doing; slots
/// hand it work and take events from a queue with a descriptor of its own.
///
/// Containers carry the labels drover.owner and drover.slot. Those whose owner is dead are removed when a runner is
/// made, so a process that was killed leaves nothing for long. What Docker does differently: the two streams of an
/// attempt keep their order each, but not between them; SIGTERM does not end a first process that does not handle it,
/// unless there is an init.
class DockerRunner final : public Runner {
 public:
  /// `host` is "unix:///path" or a path; empty: $DOCKER_HOST, else /var/run/docker.sock.
  static Result<std::unique_ptr<DockerRunner>> connect(const std::string& host = {});

  /// From one thread at a time. The setup names a container whose image the daemon has.
  Result<std::unique_ptr<Slot>> open_slot(const SlotSetup& setup) override;

  /// Has the daemon fetch the image if it lacks it; may take long. From any thread.
  ImageResult<DockerImage> ensure_image(const ContainerPlan& plan, const PullOptions& options = {});

  DockerDaemon& daemon() { return *daemon_; }

 private:
  explicit DockerRunner(std::shared_ptr<DockerDaemon> daemon);

  const std::shared_ptr<DockerDaemon> daemon_;
  const std::shared_ptr<OomWatch> oom_watch_;
};

/// Removes the containers, running or not, whose owners are dead: how many.
Result<std::size_t> remove_abandoned_containers(DockerDaemon& daemon);

}  // namespace drover
