// NVIDIA's management library, loaded from the driver's root while the program runs: what GPUs do now, and their
// critical errors. Nothing else here needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/driver_places.h"
#include "accel/gpu_history.h"

namespace drover {

/// A GPU that may be wrong from now on, and why: "Xid 79".
struct GpuFailure {
  std::string gpu;  // its UUID
  std::string reason;

  bool operator==(const GpuFailure&) const = default;
};

/// What tells of GPUs. A test has one of its own.
class GpuReader {
 public:
  virtual ~GpuReader() = default;

  /// Nothing: it does not tell, or there is no such GPU.
  virtual std::optional<GpuSample> sample(const std::string& uuid) = 0;
  /// From now on its failures are reported. An error: not all of them can be.
  virtual Result<void> watch(const std::string& uuid) = 0;
  /// Those since the last call.
  virtual std::vector<GpuFailure> failures() = 0;
};

/// An error: the driver has no such library, or does not answer.
Result<std::unique_ptr<GpuReader>> open_nvml(const DriverPlaces& places);

}  // namespace drover
