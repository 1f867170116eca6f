#include "server/fleet_lane.h"

namespace drover {
namespace {

MachineReconciler::Outside stopped_by(MachineReconciler::Outside outside, const std::stop_source& stop) {
  outside.stop = stop.get_token();
  return outside;
}

}  // namespace

FleetLane::FleetLane(std::string fleet, const MakeProvider& make, MachineReconciler::Outside outside, Troubled troubled)
    : provider_(make(stop_.get_token())),
      reconciler_(std::move(fleet), *provider_, stopped_by(std::move(outside), stop_)),
      troubled_(std::move(troubled)),
      thread_([this] { run(); }) {}

FleetLane::~FleetLane() {
  stop();
  thread_.join();
}

void FleetLane::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stop_.request_stop();
  wakes_.notify_all();
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
    if (stopping_) break;
    const FleetWork work = *std::exchange(next_, std::nullopt);
    lock.unlock();
    reconciler_.turn(work);
    lock.lock();
    if (stopping_) break;
    troubled_(reconciler_.troubles());
  }
  has_stopped_ = true;
}

}  // namespace drover
