// Accelerators for the items of a slot: whole devices that nobody else has, and how programs find them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "accel/device_pool.h"
#include "accel/gpu_monitor.h"
#include "accel/inject.h"
#include "ports/runner.h"

namespace drover {

/// The devices of this machine, and what it takes to bring them into containers.
struct MachineDevices {
  DevicePool pool;
  AccelSettings settings;
  std::string hook_program;             // drover-hook; empty: it is not installed
  std::shared_ptr<GpuMonitor> monitor;  // null: there are no GPUs to look at
  std::shared_ptr<Injector> injector;   // null: there is no device

  /// Of what an item asks for, what it is given: there may be kinds that are only counted here.
  AcceleratorCounts given_of(const Resources& ask) const;
};

/// What each slot of a run has, for as long as the run lasts.
struct SlotGrants {
  std::shared_ptr<const MachineDevices> machine;
  std::vector<DeviceGrant> grants;
};

/// The items of the slot have these devices, and see no others. An error: they cannot be brought into its containers.
Result<void> give_devices(SlotSetup& setup, const DeviceGrant& grant, const MachineDevices& machine);

/// They have none. Programs are told not to look for any; what the job itself says of that is left as it is.
void hide_devices(SlotSetup& setup, const MachineDevices& machine);

/// Adds what the attempt made of its GPUs.
void add_gpu_use(Usage& usage, const DeviceGrant& grant, const MachineDevices& machine);

/// Their UUIDs.
std::set<std::string> gpus_of(const DeviceGrant& grant);

}  // namespace drover
