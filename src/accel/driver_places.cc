#include "accel/driver_places.h"

#include <sys/sysmacros.h>

#include <cerrno>

#include "base/text.h"

namespace drover {
namespace {

std::string node_type(mode_t mode) {
  if (S_ISCHR(mode)) return "c";
  if (S_ISBLK(mode)) return "b";
  if (S_ISFIFO(mode)) return "p";
  return {};
}

}  // namespace

Result<DriverPlaces> DriverPlaces::open(const std::string& root) {
  auto files = RootFolder::open(root);
  if (!files) {
    return fail(
        files.error().code, concat("cannot use the driver root ", root, ": ", files.error().message),
        "set nvidia-container-cli.root in config.toml to the folder that the driver is installed in, usually /");
  }
  const bool has_proc = files->has("/proc/driver/nvidia");
  const bool has_devices = files->has("/dev/nvidiactl") || files->has("/dev/neuron0");
  auto proc = RootFolder::open(has_proc ? root : "/");
  if (!proc) return pass(proc);
  auto devices = RootFolder::open(has_devices ? root : "/");
  if (!devices) return pass(devices);
  return DriverPlaces{std::move(*files), std::move(*proc), std::move(*devices)};
}

std::optional<CdiEdits::DeviceNode> device_node(const DriverPlaces& places, const std::string& path) {
  const auto info = places.devices.lstat(path);
  if (!info || !S_ISCHR(info->st_mode)) return std::nullopt;
  CdiEdits::DeviceNode node{.path = path};
  if (!places.devices.is_machine_root()) node.host_path = places.devices.outside(path);
  node.type = "c";
  node.major = major(info->st_rdev);
  node.minor = minor(info->st_rdev);
  node.mode = info->st_mode & 07777;
  node.permissions = "rw";
  return node;
}

Result<void> fill_device_numbers(CdiEdits& edits) {
  for (CdiEdits::DeviceNode& node : edits.devices) {
    if (!node.type.empty() && (node.type == "p" || (node.major && node.minor && node.mode))) continue;
    const std::string& path = node.host_path.empty() ? node.path : node.host_path;
    struct stat info{};
    const bool is_there = ::lstat(path.c_str(), &info) == 0;
    if (!is_there && (node.type.empty() || !node.major || !node.minor)) {
      return std::unexpected(errno_error(errno, concat("cannot give the container the device ", path),
                                         "check that its driver is loaded, and that the CDI file is up to date"));
    }
    if (!is_there) continue;
    const std::string type = node_type(info.st_mode);
    const bool fits = type == node.type || (type == "c" && node.type == "u");
    if (type.empty() || (!node.type.empty() && !fits)) {
      return fail(ErrorCode::bad_input, concat(path, " is not a device node of the type that its CDI file names"),
                  "create the CDI file again: drover accel cdi");
    }
    if (node.type.empty()) node.type = type;
    if (!node.major) node.major = major(info.st_rdev);
    if (!node.minor) node.minor = minor(info.st_rdev);
    if (!node.mode) node.mode = info.st_mode & 07777;
  }
  return {};
}

}  // namespace drover
