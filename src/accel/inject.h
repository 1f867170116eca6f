// From what a container asks for to what it is given.
#pragma once

#include <string>
#include <vector>

#include "accel/device_request.h"

namespace drover {

struct Injection {
  CdiEdits edits;
  std::vector<std::string> notices;  // for the log
};

/// Looks at this machine, and at its CDI files if the request names any of their devices.
Result<Injection> inject_devices(const DeviceRequest& request, const AccelSettings& settings,
                                 const std::string& hook_program);

/// Takes what NVIDIA's own hook would do out of a spec that ours is in.
void remove_nvidia_hooks(JsonText& config);

}  // namespace drover
