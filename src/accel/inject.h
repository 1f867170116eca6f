// From what a container asks for to what it is given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accel/device_request.h"
#include "accel/nvidia_driver.h"
#include "accel/nvidia_files.h"

namespace drover {

struct Injection {
  CdiEdits edits;
  std::vector<std::string> notices;  // for the log
};

/// Looks at this machine, and at its CDI files if a request names any of their devices. What it has found of NVIDIA's
/// driver is good until the files of that change.
class Injector {
 public:
  Injector(const AccelSettings& settings, std::string hook_program)
      : settings_(settings), hook_program_(std::move(hook_program)) {}

  Result<Injection> inject(const DeviceRequest& request);

 private:
  struct Found {
    NvidiaDriver driver;
    NvidiaFiles files;
    std::string stamp;  // of where the files are; empty: look again each time
  };

  Result<void> add_nvidia_edits(Injection& to, const DeviceRequest& request, const DriverPlaces& places);
  const Found& find(const DriverPlaces& places, NvidiaCapabilities wanted);

  const AccelSettings settings_;
  const std::string hook_program_;
  std::map<unsigned, Found> found_;  // by capabilities
};

/// For one container.
inline Result<Injection> inject_devices(const DeviceRequest& request, const AccelSettings& settings,
                                        const std::string& hook_program) {
  return Injector(settings, hook_program).inject(request);
}

/// Takes what NVIDIA's own hook would do out of a spec that ours is in.
void remove_nvidia_hooks(JsonText& config);

}  // namespace drover
