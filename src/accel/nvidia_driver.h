// NVIDIA's driver as /proc shows it: its version, its GPUs and their MIG devices. NVML is not needed for any of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accel/driver_places.h"

namespace drover {

/// A part of a GPU: a compute instance in a GPU instance.
struct MigDevice {
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
  std::optional<std::uint32_t> gpu_capability, compute_capability;  // numbers of /dev/nvidia-caps/nvidia-capN

  bool operator==(const MigDevice&) const = default;
};

struct NvidiaGpu {
  std::uint32_t index = 0;  // by place on the bus, as nvidia-smi counts
  std::uint32_t minor = 0;  // of its node: /dev/nvidiaN
  std::string uuid;         // "GPU-..."
  std::string bus;          // "0000:3b:00.0"
  std::string model;
  std::vector<MigDevice> parts;

  std::string node() const;

  bool operator==(const NvidiaGpu&) const = default;
};

struct NvidiaDriver {
  std::string version;                          // of the kernel's module; empty: it is not loaded
  std::map<std::string, std::uint32_t> majors;  // by name, as in /proc/devices
  std::vector<NvidiaGpu> gpus;

  bool is_loaded() const { return !version.empty(); }
};

/// Nothing that is missing is an error: a machine without a driver has none.
NvidiaDriver find_nvidia_driver(const DriverPlaces& places);

/// Minors of /dev/nvidia-caps by key: "config", "gpu0/gi1/access". The kernel takes milliseconds to list them.
std::map<std::string, std::uint32_t> nvidia_capability_minors(const DriverPlaces& places);

/// "535.104.05" from the text of /proc/driver/nvidia/version.
std::string driver_version_in(std::string_view text);

}  // namespace drover
