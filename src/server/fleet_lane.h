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
  using LabelsOf = std::function<Labels(const Machine&)>;

  FleetLane(std::unique_ptr<Provider> provider, MachineReconciler::Outside outside);
  /// Waits for the call that is under way.
  ~FleetLane();
  FleetLane(const FleetLane&) = delete;
  FleetLane& operator=(const FleetLane&) = delete;

  /// All machines of the fleet, as they are now. What was given before and not looked at is out of date.
  void give(std::vector<Machine> machines, LabelsOf labels);

 private:
  void run();

  struct Work {
    std::vector<Machine> machines;
    LabelsOf labels;
  };

  const std::unique_ptr<Provider> provider_;
  MachineReconciler reconciler_;  // the thread's alone
  std::mutex mutex_;              // guards what follows
  std::condition_variable wakes_;
  std::optional<Work> next_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace drover
