// Which accelerators a container asks for, by its variables, annotations and mounts.
#pragma once

#include <string>
#include <vector>

#include "accel/accel_settings.h"
#include "wire/oci_edit.h"

namespace drover {

struct DeviceRequest {
  std::vector<std::string> cdi;  // qualified names
  bool wants_driver = false;     // of NVIDIA, even without a GPU
  bool wants_all_gpus = false;
  std::vector<std::string> gpus;  // indices, UUIDs, parts of GPUs
  NvidiaCapabilities capabilities;
  std::vector<std::string> requirements;  // all of which must be met
  std::vector<std::string> extras;        // "gds", "mofed", "gdrcopy", "nvswitch"
  std::vector<std::string> imex_channels;
  bool sees_mig_config = false;
  bool sees_mig_monitor = false;
  bool wants_all_neuron = false;
  std::vector<std::uint32_t> neuron;
  std::vector<std::string> notices;  // for the log

  bool is_empty() const { return cdi.empty() && !wants_driver && !wants_all_neuron && neuron.empty(); }
};

/// Which makes of accelerators are looked for.
enum class AccelVendor : unsigned char { any, nvidia, neuron };

/// Annotations come before mounts, and mounts before variables.
Result<DeviceRequest> device_request(const OciFacts& container, const AccelSettings& settings,
                                     AccelVendor vendor = AccelVendor::any);

}  // namespace drover
