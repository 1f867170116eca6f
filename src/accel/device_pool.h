// This machine's accelerators, each of which one slot has at a time, whatever worker or run the slot belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accel/accel_settings.h"
#include "base/resources.h"
#include "ports/descriptor.h"

namespace drover {

/// A whole device.
struct PoolDevice {
  std::string id;           // the same for every process of this machine: "GPU-...", "neuron0"
  std::uint32_t index = 0;  // as nvidia-smi counts, or N of /dev/neuronN
  std::uint32_t cores = 0;  // of a Neuron device

  bool operator==(const PoolDevice&) const = default;
};

/// By kind, as kAcceleratorNames counts them; those of a kind in the order of the machine.
using PoolDevices = std::array<std::vector<PoolDevice>, kAccelerators>;
using AcceleratorCounts = std::array<std::uint64_t, kAccelerators>;

/// Devices that nobody else is given until the last process that has `lock` open is gone.
struct DeviceGrant {
  PoolDevices devices;
  Descriptor lock;

  AcceleratorCounts counts() const;
};

class DevicePool {
 public:
  /// A file that all processes of this machine lock devices in. Where every user may write to /run/lock it is there: in
  /// /dev/shm, logind removes the files of users who log out.
  static std::string usual_lock_file();

  DevicePool() = default;
  explicit DevicePool(PoolDevices devices, std::string lock_file = usual_lock_file())
      : devices_(std::move(devices)), lock_file_(std::move(lock_file)) {}

  /// The devices of this machine, or those of them that $CUDA_VISIBLE_DEVICES of this process names.
  static Result<DevicePool> find(const AccelSettings& settings);

  const PoolDevices& devices() const { return devices_; }
  AcceleratorCounts counts() const;
  bool is_empty() const { return counts() == AcceleratorCounts{}; }

  /// Nothing: so many are not free now. Those in `broken` are given to nobody.
  Result<std::optional<DeviceGrant>> take(const AcceleratorCounts& wanted,
                                          const std::map<std::string, std::string>& broken = {}) const;
  /// This one and no other; nothing: somebody has it.
  Result<std::optional<DeviceGrant>> take_gpu(const std::string& id) const;

 private:
  using MayTake = std::function<bool(const PoolDevice&)>;

  Result<std::optional<DeviceGrant>> take_those(const AcceleratorCounts& wanted, const MayTake& may_take) const;

  PoolDevices devices_;
  std::string lock_file_;
};

/// Those of `all` that a list like $CUDA_VISIBLE_DEVICES names, by index or by UUID or the beginning of one. As CUDA
/// does, the list ends at the first that is not there.
std::vector<PoolDevice> visible_gpus(const std::vector<PoolDevice>& all, std::string_view list);

}  // namespace drover
