// GPUs of this machine that have failed since this process began. They are given to no more items, and kept from other
// processes on the machine for as long as this one lives.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "worker/slot_devices.h"

namespace drover {

class BrokenGpus {
 public:
  /// `machine` may be null: then nothing fails.
  explicit BrokenGpus(std::shared_ptr<const MachineDevices> machine) : machine_(std::move(machine)) {}

  /// Those that have failed since the last call.
  std::vector<std::string> look();
  /// Locks those that nobody holds. One that was in use is free only when what used it has ended.
  void keep_from_others();

  /// UUIDs, and why.
  const std::map<std::string, std::string>& all() const { return reasons_; }
  /// One of these GPUs that has failed; empty: none has.
  std::string one_of(const std::set<std::string>& gpus) const;
  /// In words, of one that has failed.
  std::string what_failed(const std::string& gpu) const;

 private:
  const std::shared_ptr<const MachineDevices> machine_;
  std::map<std::string, std::string> reasons_;
  std::map<std::string, DeviceGrant> kept_;
};

}  // namespace drover
