#include "accel/inject.h"

#include <algorithm>

#include "accel/cdi_registry.h"
#include "accel/neuron.h"
#include "accel/nvidia_edits.h"
#include "base/text.h"

namespace drover {
namespace {

// The linker's cache is written again when libraries are installed, and a folder changes when its files do.
std::string stamp_of(const RootFolder& root, const std::vector<std::string>& folders) {
  std::string out;
  const auto add = [&](const std::string& path) {
    const auto info = root.lstat(path);
    if (info) out += concat(info->st_dev, ".", info->st_ino, ".", info->st_mtim.tv_sec, ".", info->st_mtim.tv_nsec);
    out += ' ';
  };
  add("/etc/ld.so.cache");
  for (const std::string& folder : folders) add(folder);
  return out;
}

}  // namespace

const Injector::Found& Injector::find(const DriverPlaces& places, NvidiaCapabilities wanted) {
  Found& found = found_[wanted.bits()];
  if (!found.stamp.empty() && stamp_of(places.files, found.files.folders) == found.stamp) return found;
  found.driver = find_nvidia_driver(places);
  found.files = find_nvidia_files(places.files, wanted);
  // MIG devices come and go while the driver's files stay as they are.
  const bool has_parts = std::ranges::any_of(found.driver.gpus, [](const NvidiaGpu& it) { return !it.parts.empty(); });
  const bool may_change = has_parts || !found.driver.is_loaded() || found.files.folders.empty();
  found.stamp = may_change ? std::string() : stamp_of(places.files, found.files.folders);
  return found;
}

Result<void> Injector::add_nvidia_edits(Injection& to, const DeviceRequest& request, const DriverPlaces& places) {
  const auto& [driver, files, stamp] = find(places, request.capabilities);
  if (!driver.is_loaded()) {
    return fail(ErrorCode::not_found, "NVIDIA's driver is not loaded: /proc/driver/nvidia/version is missing",
                "load it (modprobe nvidia), or run the container without GPUs");
  }
  const NvidiaProperties properties = nvidia_properties(driver);
  for (const std::string& requirement : request.requirements) {
    if (auto met = check_requirement(requirement, properties); !met) return met;
  }
  auto chosen = choose_gpus(driver, request.gpus, request.wants_all_gpus);
  if (!chosen) return pass(chosen);
  if (chosen->empty() && request.wants_all_gpus) {
    return fail(ErrorCode::not_found, "there is no NVIDIA GPU on this machine: /proc/driver/nvidia/gpus is empty",
                "check the GPUs: drover accel check");
  }
  if (files.version.empty()) {
    return fail(ErrorCode::not_found,
                concat("no library of NVIDIA's driver was found below ", places.files.path(),
                       ": libcuda.so and libnvidia-ml.so are missing"),
                "install the driver's libraries, or set nvidia-container-cli.root in config.toml");
  }
  if (files.version != driver.version) {
    to.notices.push_back(concat("the kernel's NVIDIA driver is version ", driver.version,
                                " and its libraries are version ", files.version,
                                ": restart the machine, or reload the driver"));
  }
  const NvidiaEdits edits(places, driver, hook_program_);
  if (!chosen->empty()) to.edits.add(edits.of_control());
  for (const GpuChoice& choice : *chosen) to.edits.add(edits.of_gpu(choice, request.capabilities));
  to.edits.add(edits.of_extras(request));
  to.edits.add(edits.of_files(files));
  return {};
}

Result<Injection> Injector::inject(const DeviceRequest& request) {
  Injection out{.edits = {}, .notices = request.notices};
  if (!request.cdi.empty()) {
    auto edits = CdiRegistry::scan(settings_.cdi_folders).resolve(request.cdi);
    if (!edits) return pass(edits);
    out.edits.add(*edits);
  }
  const bool wants_neuron = request.wants_all_neuron || !request.neuron.empty();
  if (request.wants_driver || wants_neuron) {
    auto places = DriverPlaces::open(settings_.driver_root);
    if (!places) return pass(places);
    if (request.wants_driver) {
      if (auto added = add_nvidia_edits(out, request, *places); !added) return pass(added);
    }
    if (wants_neuron) {
      auto edits = neuron_edits(*places, request);
      if (!edits) return pass(edits);
      out.edits.add(*edits);
    }
  }
  if (auto filled = fill_device_numbers(out.edits); !filled) return pass(filled);
  return out;
}

void remove_nvidia_hooks(JsonText& config) {
  remove_hooks(config, "prestart", {"nvidia-container-runtime-hook", "nvidia-container-toolkit"});
}

}  // namespace drover
