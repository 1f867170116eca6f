// One fleet's provider and the thread that speaks with it, so that a slow provider holds up no other fleet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "fleets/machine_reconciler.h"

namespace drover {

class FleetLane {
 public:
  /// Called from the lane's thread with what is wrong with the provider, after each turn; not after stop().
  using Troubled = std::function<void(std::vector<std::string> troubles)>;
  /// A call that is under way is broken off when a stop is requested, if the provider can do that.
  using MakeProvider = std::function<std::unique_ptr<Provider>(const std::stop_token& stop)>;

  FleetLane(std::string fleet, const MakeProvider& make, MachineReconciler::Outside outside, Troubled troubled);
  /// Waits for the call that is under way, which takes a moment after stop().
  ~FleetLane();
  FleetLane(const FleetLane&) = delete;
  FleetLane& operator=(const FleetLane&) = delete;

  /// What was given before and not looked at is out of date.
  void give(FleetWork work);

  /// No further call begins. Returns at once.
  void stop();
  /// After stop(): nothing is under way any more, so that the destructor does not wait.
  bool has_stopped() const { return has_stopped_; }

 private:
  void run();

  std::stop_source stop_;
  const std::unique_ptr<Provider> provider_;
  MachineReconciler reconciler_;  // the thread's alone
  const Troubled troubled_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  std::optional<FleetWork> next_;
  bool stopping_ = false;
  std::atomic<bool> has_stopped_ = false;
  std::thread thread_;
};

}  // namespace drover
