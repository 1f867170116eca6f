// Where a machine's drivers are: their files below one root, and device nodes and /proc there or at the machine's own.
#pragma once

#include <sys/stat.h>
#include <optional>
#include <string>

#include "accel/root_folder.h"
#include "wire/cdi_spec.h"

namespace drover {

struct DriverPlaces {
  RootFolder files;
  RootFolder proc;     // below it: proc/
  RootFolder devices;  // below it: dev/

  /// A root that has NVIDIA's /proc files, or accelerators in /dev, is asked for them too; otherwise the machine's are.
  static Result<DriverPlaces> open(const std::string& root);
};

/// A node of /dev, for an edit; nothing: it is not a device node or not there.
std::optional<CdiEdits::DeviceNode> device_node(const DriverPlaces& places, const std::string& path);

/// Numbers, types and modes that edits leave open, from the nodes of this machine. An error names the node that is
/// missing.
Result<void> fill_device_numbers(CdiEdits& edits);

}  // namespace drover
