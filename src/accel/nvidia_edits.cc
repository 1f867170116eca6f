#include "accel/nvidia_edits.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::uint32_t kControlMinor = 255;
constexpr std::uint32_t kModesetMinor = 254;
constexpr const char* kHookPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string names_of(const NvidiaDriver& driver) {
  if (driver.gpus.empty()) return "it has none";
  std::string names;
  for (const NvidiaGpu& gpu : driver.gpus) names += concat(names.empty() ? "it has " : ", ", gpu.index);
  return names;
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

const NvidiaGpu* gpu_by_index(const NvidiaDriver& driver, std::string_view text) {
  const auto index = parse_number(text);
  return index && *index < driver.gpus.size() ? &driver.gpus[*index] : nullptr;
}

const NvidiaGpu* gpu_by_uuid(const NvidiaDriver& driver, std::string_view uuid) {
  const auto it = std::ranges::find(driver.gpus, uuid, &NvidiaGpu::uuid);
  return it == driver.gpus.end() || uuid.empty() ? nullptr : &*it;
}

/// "0", "GPU-uuid", "0:1" (the second part of GPU 0), "MIG-GPU-uuid/3/0".
GpuChoice choice_named(const NvidiaDriver& driver, std::string_view name) {
  if (name.starts_with("MIG-GPU-")) {
    std::string_view rest = name.substr(4);
    const NvidiaGpu* gpu = gpu_by_uuid(driver, take_until(rest, '/'));
    const auto gpu_instance = parse_number(take_until(rest, '/'));
    const auto compute_instance = parse_number(rest);
    if (gpu == nullptr || !gpu_instance || !compute_instance) return {};
    for (const MigDevice& part : gpu->parts) {
      if (part.gpu_instance == *gpu_instance && part.compute_instance == *compute_instance) return {gpu, &part};
    }
    return {};
  }
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
    const NvidiaGpu* gpu = gpu_by_index(driver, name.substr(0, colon));
    const auto part = parse_number(name.substr(colon + 1));
    if (gpu == nullptr || !part || *part >= gpu->parts.size()) return {};
    return {gpu, &gpu->parts[*part]};
  }
  const NvidiaGpu* gpu = gpu_by_uuid(driver, name);
  return {gpu != nullptr ? gpu : gpu_by_index(driver, name), nullptr};
}

}  // namespace

Result<std::vector<GpuChoice>> choose_gpus(const NvidiaDriver& driver, const std::vector<std::string>& names,
                                           bool all) {
  std::vector<GpuChoice> chosen;
  if (all) {
    for (const NvidiaGpu& gpu : driver.gpus) {
      chosen.push_back({&gpu, nullptr});
      for (const MigDevice& part : gpu.parts) chosen.push_back({&gpu, &part});
    }
  }
  for (const std::string& name : names) {
    const GpuChoice choice = choice_named(driver, name);
    if (choice.gpu != nullptr) {
      chosen.push_back(choice);
    } else if (name.starts_with("MIG-") && !name.starts_with("MIG-GPU-")) {
      return fail(ErrorCode::bad_input,
                  concat("cannot find the MIG device '", name,
                         "': UUIDs of MIG devices are not "
                         "in /proc"),
                  "name it GPU:N, where N counts the MIG devices of the GPU from 0; see drover accel list");
    } else {
      return fail(ErrorCode::not_found, concat("there is no GPU '", name, "' on this machine: ", names_of(driver)),
                  "see drover accel list");
    }
  }
  return chosen;
}

NvidiaProperties nvidia_properties(const NvidiaDriver& driver) {
  NvidiaProperties out{.driver = driver.version, .cuda = cuda_version_of_driver(driver.version)};
  for (const NvidiaGpu& gpu : driver.gpus) {
    if (std::string brand = brand_of_model(gpu.model); !brand.empty()) out.brands.push_back(std::move(brand));
  }
  return out;
}

// A node that nobody has made yet has the numbers that its driver registered.
void NvidiaEdits::add_node(CdiEdits& to, const std::string& path, std::string_view driver, std::uint32_t minor) const {
  auto node = device_node(places_, path);
  if (!node) {
    auto major = driver_.majors.find(std::string(driver));
    if (major == driver_.majors.end() && driver == "nvidia") major = driver_.majors.find("nvidia-frontend");
    if (major == driver_.majors.end()) return;
    node = CdiEdits::DeviceNode{.path = path, .type = "c", .major = major->second, .minor = minor, .mode = 0666};
    node->permissions = "rw";
  }
  const bool is_there = std::ranges::find(to.devices, path, &CdiEdits::DeviceNode::path) != to.devices.end();
  if (!is_there) to.devices.push_back(std::move(*node));
}

void NvidiaEdits::add_capability(CdiEdits& to, std::uint32_t number) const {
  add_node(to, concat("/dev/nvidia-caps/nvidia-cap", number), "nvidia-caps", number);
}

void NvidiaEdits::add_nodes_like(CdiEdits& to, const std::string& folder, std::string_view prefix) const {
  for (const std::string& name : places_.devices.names_in(folder)) {
    if (!name.starts_with(prefix)) continue;
    if (auto node = device_node(places_, concat(folder, "/", name))) to.devices.push_back(std::move(*node));
  }
}

CdiEdits NvidiaEdits::of_gpu(const GpuChoice& choice, NvidiaCapabilities capabilities) const {
  CdiEdits edits;
  add_node(edits, choice.gpu->node(), "nvidia", choice.gpu->minor);
  if (choice.part != nullptr) {
    if (choice.part->gpu_capability) add_capability(edits, *choice.part->gpu_capability);
    if (choice.part->compute_capability) add_capability(edits, *choice.part->compute_capability);
  }
  if (capabilities.has(NvidiaCapabilities::graphics | NvidiaCapabilities::display)) {
    for (const std::string_view kind : {"card", "render"}) {
      const std::string path = concat("/dev/dri/by-path/pci-", choice.gpu->bus, "-", kind);
      const std::string real = places_.devices.real_path(path);
      if (auto node = real.empty() ? std::nullopt : device_node(places_, real)) {
        edits.devices.push_back(std::move(*node));
      }
    }
  }
  return edits;
}

CdiEdits NvidiaEdits::of_control() const {
  CdiEdits edits;
  add_node(edits, "/dev/nvidiactl", "nvidia", kControlMinor);
  add_node(edits, "/dev/nvidia-uvm", "nvidia-uvm", 0);
  add_node(edits, "/dev/nvidia-uvm-tools", "nvidia-uvm", 1);
  if (auto node = device_node(places_, "/dev/nvidia-modeset")) edits.devices.push_back(std::move(*node));
  return edits;
}

void NvidiaEdits::add_mount(CdiEdits& to, const std::string& path, bool read_only) const {
  if (const std::string real = places_.files.real_path(path); !real.empty()) add_mount(to, path, real, read_only);
}

void NvidiaEdits::add_mount(CdiEdits& to, const std::string& path, const std::string& real, bool read_only) const {
  std::vector<std::string> options = {"nosuid", "nodev", "rbind", "rprivate"};
  if (read_only) {
    options.insert(options.begin(), "ro");
  } else {
    options.emplace_back("noexec");
  }
  to.mounts.push_back({places_.files.outside(real), path, std::move(options), {}});
}

CdiEdits NvidiaEdits::of_files(const NvidiaFiles& files) const {
  CdiEdits edits;
  for (const std::string& path : files.libraries) add_mount(edits, path, path, true);
  for (const auto* paths : {&files.programs, &files.data}) {
    for (const std::string& path : *paths) add_mount(edits, path, true);
  }
  for (const std::string& path : files.sockets) add_mount(edits, path, false);
  CdiEdits::Hook hook{.stage = "createContainer", .path = hook_program_};
  hook.arguments = {file_name(hook_program_), "prepare"};
  for (const NvidiaFiles::Link& link : files.links) {
    hook.arguments.insert(hook.arguments.end(), {"--link", concat(link.target, "::", link.path)});
  }
  // A library is known to the linker by its links, or by its own name if it has none.
  for (const std::string& path : files.libraries) {
    const bool is_linked =
        std::ranges::find(files.links, file_name(path), &NvidiaFiles::Link::target) != files.links.end();
    if (!is_linked) hook.arguments.insert(hook.arguments.end(), {"--library", path});
  }
  for (const NvidiaFiles::Link& link : files.links) {
    hook.arguments.insert(hook.arguments.end(), {"--library", link.path});
  }
  hook.arguments.emplace_back("--keep-device-nodes");
  hook.environment = {kHookPath};
  edits.hooks.push_back(std::move(hook));
  // A second runtime that sees the variable has nothing more to do.
  edits.environment.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  return edits;
}

CdiEdits NvidiaEdits::of_extras(const DeviceRequest& request) const {
  CdiEdits edits;
  const auto has = [&](std::string_view name) {
    return std::ranges::find(request.extras, name) != request.extras.end();
  };
  if (has("gds")) {
    add_nodes_like(edits, "/dev", "nvidia-fs");
    if (places_.files.has("/run/udev")) add_mount(edits, "/run/udev", true);
    if (places_.files.has("/etc/cufile.json")) add_mount(edits, "/etc/cufile.json", true);
  }
  if (has("mofed")) {
    add_nodes_like(edits, "/dev/infiniband", "uverbs");
    add_nodes_like(edits, "/dev/infiniband", "rdma_cm");
  }
  if (has("gdrcopy")) add_nodes_like(edits, "/dev", "gdrdrv");
  if (has("nvswitch")) add_nodes_like(edits, "/dev", "nvidia-nvswitch");
  for (const std::string& channel : request.imex_channels) {
    const std::string folder = "/dev/nvidia-caps-imex-channels";
    if (channel == "all") {
      add_nodes_like(edits, folder, "channel");
    } else if (auto node = device_node(places_, concat(folder, "/channel", channel))) {
      edits.devices.push_back(std::move(*node));
    }
  }
  if (!request.sees_mig_config && !request.sees_mig_monitor) return edits;
  const auto minors = nvidia_capability_minors(places_);
  for (const auto& [is_wanted, key] :
       {std::pair(request.sees_mig_config, "config"), std::pair(request.sees_mig_monitor, "monitor")}) {
    const auto number = minors.find(key);
    if (is_wanted && number != minors.end()) add_capability(edits, number->second);
  }
  return edits;
}

Result<CdiSpec> nvidia_cdi_spec(const DriverPlaces& places, const std::string& hook_program) {
  const NvidiaDriver driver = find_nvidia_driver(places);
  const NvidiaFiles files = find_nvidia_files(places.files, NvidiaCapabilities::all);
  if (driver.gpus.empty()) {
    return fail(ErrorCode::not_found, "no NVIDIA GPU was found: /proc/driver/nvidia/gpus is missing or empty",
                "load NVIDIA's driver (modprobe nvidia), or name where it is: --driver-root");
  }
  if (files.version.empty()) {
    return fail(ErrorCode::not_found, concat("no library of NVIDIA's driver was found below ", places.files.path()),
                "install the driver's libraries, or name where they are: --driver-root");
  }
  const NvidiaEdits edits(places, driver, hook_program);
  CdiSpec spec{.kind = "nvidia.com/gpu"};
  CdiEdits of_all;
  const auto add = [&](std::string name, const CdiEdits& nodes) {
    if (!name.empty() && !nodes.is_empty()) spec.devices.push_back({std::move(name), {}, nodes});
  };
  for (const NvidiaGpu& gpu : driver.gpus) {
    const CdiEdits nodes = edits.of_gpu({&gpu, nullptr}, NvidiaCapabilities::all);
    add(std::to_string(gpu.index), nodes);
    add(gpu.uuid, nodes);
    of_all.add(nodes);
    for (std::size_t i = 0; i < gpu.parts.size(); ++i) {
      const CdiEdits part = edits.of_gpu({&gpu, &gpu.parts[i]}, NvidiaCapabilities::all);
      add(concat(gpu.index, ":", i), part);
      for (const CdiEdits::DeviceNode& node : part.devices) {
        const bool is_there = std::ranges::find(of_all.devices, node) != of_all.devices.end();
        if (!is_there) of_all.devices.push_back(node);
      }
    }
  }
  add("all", of_all);
  spec.edits = edits.of_control();
  spec.edits.add(edits.of_files(files));
  spec.version = least_cdi_version(spec);
  return spec;
}

}  // namespace drover
