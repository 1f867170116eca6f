#include "worker/machine_runner.h"

#include <unistd.h>

#include <cstdlib>

#include "run/oci_runtime.h"
#include "run/user_namespace.h"

namespace drover {
namespace {

bool has_docker() {
  return std::getenv("DOCKER_HOST") != nullptr || ::access("/var/run/docker.sock", W_OK) == 0;
}

}  // namespace

ContainerRuntime runtime_for(const ContainerOptions& options) {
  if (options.runtime != ContainerRuntime::any) return options.runtime;
  const bool can_run_them = find_oci_runtime(ContainerRuntime::any) && may_make_containers();
  return can_run_them || !has_docker() ? ContainerRuntime::any : ContainerRuntime::docker;
}

Result<DockerRunner*> MachineRunner::docker() {
  const std::lock_guard lock(mutex_);
  if (!docker_) {
    auto connected = DockerRunner::connect();
    if (!connected) return pass(connected);
    docker_ = std::move(*connected);
  }
  return docker_.get();
}

Result<std::unique_ptr<Slot>> MachineRunner::open_slot(const SlotSetup& setup) {
  if (!setup.container || runtime_for(setup.container->options) != ContainerRuntime::docker) {
    return processes_.open_slot(setup);
  }
  auto runner = docker();
  if (!runner) return pass(runner);
  return (*runner)->open_slot(setup);
}

}  // namespace drover
