#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "accel/cdi_registry.h"
#include "accel/neuron.h"
#include "accel/nvidia_edits.h"
#include "base/units.h"
#include "cli/doctor_check.h"

namespace drover {
namespace {

Check driver_check(const NvidiaDriver& driver, const NvidiaFiles& files) {
  if (!driver.is_loaded()) {
    return {"driver", CheckVerdict::problem,
            "libraries of NVIDIA's driver are installed, and its kernel module is not loaded",
            "load it: modprobe nvidia"};
  }
  if (files.version.empty()) {
    return {"driver", CheckVerdict::problem,
            fmt::format("NVIDIA's driver {} is loaded, and its libraries were not found", driver.version),
            "install the driver's libraries (libcuda.so, libnvidia-ml.so), or name their root with --driver-root"};
  }
  if (files.version != driver.version) {
    return {
        "driver", CheckVerdict::problem,
        fmt::format("the kernel has NVIDIA's driver {}, and the libraries are version {}: programs cannot use the GPUs",
                    driver.version, files.version),
        "restart the machine, or unload and load the kernel's module"};
  }
  const std::string cuda = cuda_version_of_driver(driver.version);
  return {"driver", CheckVerdict::ok,
          fmt::format("NVIDIA's driver {}{}, {}", driver.version, cuda.empty() ? "" : fmt::format(" (CUDA {})", cuda),
                      files.libraries.size() == 1 ? "1 library" : fmt::format("{} libraries", files.libraries.size())),
          ""};
}

/// Whether the node is there, has its driver's number, and can be opened, which asks the device itself.
Check node_check(const DriverPlaces& places, const NvidiaDriver& driver, const std::string& path,
                 std::string_view name) {
  const auto node = device_node(places, path);
  if (!node) {
    return {"device", CheckVerdict::warning, fmt::format("{} is missing; containers get one of their own", path),
            "create it: nvidia-modprobe -c 0 -u"};
  }
  const auto major = driver.majors.find(std::string(name));
  if (major != driver.majors.end() && node->major != major->second) {
    return {"device", CheckVerdict::problem,
            fmt::format("{} has the number {}, and its driver has {}", path, *node->major, major->second),
            fmt::format("delete it, and create it again: nvidia-modprobe -c 0 -u")};
  }
  const std::string outside = places.devices.outside(path);
  const int opened = ::open(outside.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) {
    const int error = errno;
    return {"device", CheckVerdict::problem, fmt::format("{} cannot be opened: {}", path, std::strerror(error)),
            error == EACCES || error == EPERM ? "add your user to the device's group, or change its mode"
                                              : "check the kernel's log: dmesg | grep -i -e nvrm -e xid"};
  }
  ::close(opened);
  return {"device", CheckVerdict::ok, fmt::format("{} answers", path), ""};
}

Check cdi_check(const std::vector<std::string>& folders) {
  const CdiRegistry registry = CdiRegistry::scan(folders);
  if (!registry.problems().empty()) {
    const CdiRegistry::Problem& first = registry.problems().front();
    return {"CDI", CheckVerdict::problem, fmt::format("{}: {}", first.path, first.what),
            "correct or remove the file; create those of this machine with drover accel cdi --write"};
  }
  if (registry.names().empty()) {
    return {"CDI", CheckVerdict::warning, "no CDI file names a device: podman --device nvidia.com/gpu=0 cannot work",
            "create the files: drover accel cdi --write"};
  }
  return {"CDI", CheckVerdict::ok, fmt::format("{} in CDI files", plural(registry.names().size(), "device")), ""};
}

}  // namespace

std::vector<Check> check_accelerators(const AccelSettings& settings) {
  const auto places = DriverPlaces::open(settings.driver_root);
  if (!places) return {{"driver", CheckVerdict::problem, places.error().message, places.error().next}};
  const NvidiaDriver driver = find_nvidia_driver(*places);
  const NvidiaFiles files = find_nvidia_files(places->files, NvidiaCapabilities::all);
  const std::vector<std::uint32_t> neuron = find_neuron_devices(*places);
  if (!driver.is_loaded() && files.version.empty() && neuron.empty()) {
    return {{"devices", CheckVerdict::ok, "there is no accelerator on this machine", ""}};
  }
  std::vector<Check> checks;
  if (driver.is_loaded() || !files.version.empty()) checks.push_back(driver_check(driver, files));
  if (driver.is_loaded()) {
    checks.push_back(node_check(*places, driver, "/dev/nvidiactl", "nvidia"));
    checks.push_back(node_check(*places, driver, "/dev/nvidia-uvm", "nvidia-uvm"));
    for (const NvidiaGpu& gpu : driver.gpus) checks.push_back(node_check(*places, driver, gpu.node(), "nvidia"));
    if (driver.gpus.empty()) {
      checks.push_back({"device", CheckVerdict::problem, "NVIDIA's driver is loaded, and found no GPU",
                        "check the kernel's log: dmesg | grep -i nvrm"});
    }
  }
  for (const std::uint32_t number : neuron) {
    checks.push_back(node_check(*places, driver, fmt::format("/dev/neuron{}", number), "neuron"));
  }
  checks.push_back(cdi_check(settings.cdi_folders));
  return checks;
}

}  // namespace drover
