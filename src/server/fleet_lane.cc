#include "server/fleet_lane.h"

namespace drover {

FleetLane::FleetLane(std::string fleet, std::unique_ptr<Provider> provider, MachineReconciler::Outside outside,
                     Troubled troubled)
    : provider_(std::move(provider)),
      reconciler_(std::move(fleet), *provider_, std::move(outside)),
      troubled_(std::move(troubled)),
      thread_([this] { run(); }) {}

FleetLane::~FleetLane() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

void FleetLane::give(FleetWork work) {
  {
    const std::scoped_lock lock(mutex_);
    next_ = std::move(work);
  }
  wakes_.notify_all();
}

void FleetLane::run() {
  while (true) {
    std::unique_lock lock(mutex_);
    wakes_.wait(lock, [this] { return stopping_ || next_; });
    if (stopping_) return;
    const FleetWork work = *std::exchange(next_, std::nullopt);
    lock.unlock();
    reconciler_.turn(work);
    troubled_(reconciler_.troubles());
  }
}

}  // namespace drover
