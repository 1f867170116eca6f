// What makes a driver's files usable in a container whose file system is there, and whose first process is not:
// symlinks and the linker's cache. Nothing of the container is executed, and no path leaves its root.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accel/nvidia_files.h"
#include "accel/root_folder.h"

namespace drover {

/// The words of `drover-hook prepare`.
struct Preparation {
  std::vector<NvidiaFiles::Link> links;
  std::vector<std::string> libraries;  // paths that the linker shall know, by their file names
  bool keeps_device_nodes = false;     // programs shall not make nodes of devices that the container was not given
};

Result<Preparation> parse_preparation(std::span<const char* const> words);

/// Where the container's root is, from the state that OCI runtimes give to hooks.
Result<std::string> container_root(const std::string& state);

/// Adds to `notices` what could not be done and is no reason to fail: the image cannot be written, for example.
Result<void> prepare_container(const RootFolder& root, const Preparation& what, std::vector<std::string>& notices);

/// The driver's parameters with ModifyDeviceFiles off; empty: it is off already.
std::string params_without_device_files(std::string_view params);

}  // namespace drover
