// One fleet's provider and the thread that speaks with it, so that a slow provider holds up no other fleet.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fleets/machine_reconciler.h"

namespace drover {

class FleetLane {
 public:
  /// Called from the lane's thread with what is wrong with the provider, after each turn.
  using Troubled = std::function<void(std::vector<std::string> troubles)>;

  FleetLane(std::string fleet, std::unique_ptr<Provider> provider, MachineReconciler::Outside outside,
            Troubled troubled);
  /// Waits for the call that is under way.
  ~FleetLane();
  FleetLane(const FleetLane&) = delete;
  FleetLane& operator=(const FleetLane&) = delete;

  /// What was given before and not looked at is out of date.
  void give(FleetWork work);

 private:
  void run();

  const std::unique_ptr<Provider> provider_;
  MachineReconciler reconciler_;  // the thread's alone
  const Troubled troubled_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  std::optional<FleetWork> next_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace drover
