#include "server/fleet_lane.h"

namespace drover {

FleetLane::FleetLane(std::unique_ptr<Provider> provider, MachineReconciler::Outside outside)
    : provider_(std::move(provider)), reconciler_(*provider_, std::move(outside)), thread_([this] { run(); }) {}

FleetLane::~FleetLane() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

void FleetLane::give(std::vector<Machine> machines, LabelsOf labels) {
  {
    const std::scoped_lock lock(mutex_);
    next_ = Work{std::move(machines), std::move(labels)};
  }
  wakes_.notify_all();
}

void FleetLane::run() {
  while (true) {
    std::unique_lock lock(mutex_);
    wakes_.wait(lock, [this] { return stopping_ || next_; });
    if (stopping_) return;
    const Work work = *std::exchange(next_, std::nullopt);
    lock.unlock();
    reconciler_.turn(work.machines, work.labels);
  }
}

}  // namespace drover
