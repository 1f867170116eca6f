#include "worker/slot_devices.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "worker/machine_runner.h"

namespace drover {
namespace {

std::string joined(const std::vector<PoolDevice>& devices, auto&& text_of) {
  std::string out;
  for (const PoolDevice& it : devices) out += concat(out.empty() ? "" : ",", text_of(it));
  return out;
}

bool has_variable(const std::vector<std::string>& environment, std::string_view name) {
  return std::ranges::any_of(environment, [&](const std::string& it) {
    return it.size() > name.size() && it[name.size()] == '=' && it.starts_with(name);
  });
}

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  std::erase_if(environment, [&](const std::string& it) {
    return it.size() > name.size() && it[name.size()] == '=' && it.starts_with(name);
  });
  environment.push_back(concat(name, "=", value));
}

// Programs count the GPUs that they can see, and in a container those are all that there are. Indices, since not every
// program takes a UUID; in the order of the bus, which is that of nvidia-smi.
void set_nvidia_variables(std::vector<std::string>& environment, const std::vector<PoolDevice>& gpus,
                          bool is_in_container) {
  std::size_t position = 0;
  set_variable(environment, "CUDA_VISIBLE_DEVICES", joined(gpus, [&](const PoolDevice& it) {
                 return is_in_container ? position++ : std::size_t{it.index};
               }));
  set_variable(environment, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  set_variable(environment, "NVIDIA_VISIBLE_DEVICES", joined(gpus, [](const PoolDevice& it) { return it.id; }));
}

/// Cores are counted through all devices of the machine.
void set_neuron_variables(std::vector<std::string>& environment, const std::vector<PoolDevice>& devices) {
  set_variable(environment, "NEURON_RT_VISIBLE_CORES", joined(devices, [](const PoolDevice& it) {
                 const std::uint32_t first = it.index * it.cores;
                 return it.cores == 1 ? concat(first) : concat(first, "-", first + it.cores - 1);
               }));
}

ContainerEdits container_edits(const CdiEdits& edits) {
  ContainerEdits out{.devices = {}, .mounts = {}, .environment = edits.environment, .hooks = {}};
  for (const CdiEdits::DeviceNode& it : edits.devices) {
    const std::string& host = it.host_path.empty() ? it.path : it.host_path;
    const bool has_rule = !it.permissions.empty() && it.permissions != "none";
    ContainerEdits::Device device{.wanted = {host, it.path, has_rule ? it.permissions : "rwm"},
                                  .is_block = it.type == "b"};
    if (it.major && it.minor) {
      device.major = static_cast<std::uint32_t>(*it.major);
      device.minor = static_cast<std::uint32_t>(*it.minor);
    }
    out.devices.push_back(std::move(device));
  }
  for (const CdiEdits::Mount& it : edits.mounts) {
    const bool is_read_only = std::ranges::find(it.options, "ro") != it.options.end();
    out.mounts.push_back({.source = it.host_path, .target = it.container_path, .read_only = is_read_only});
  }
  for (const CdiEdits::Hook& it : edits.hooks) {
    out.hooks.push_back({it.stage, it.path, it.arguments, it.environment});
  }
  return out;
}

/// What an image says of capabilities is known where its variables are; a job's own come after them.
Result<DeviceRequest> request_for(const DeviceGrant& grant, const std::vector<std::string>& environment,
                                  const AccelSettings& settings) {
  constexpr std::string_view kName = "NVIDIA_DRIVER_CAPABILITIES=";
  OciFacts facts;
  for (const std::string& it : environment) {
    if (it.starts_with(kName)) facts.environment.push_back(it);
  }
  const std::string ids = joined(grant.devices[kNvidia], [](const PoolDevice& it) { return it.id; });
  if (!ids.empty()) facts.environment.push_back(concat("NVIDIA_VISIBLE_DEVICES=", ids));
  AccelSettings ours = settings;
  ours.takes_variables_of_all = true;
  auto request = device_request(facts, ours, AccelVendor::nvidia);
  if (!request) return request;
  for (const PoolDevice& it : grant.devices[kNeuron]) request->neuron.push_back(it.index);
  return request;
}

}  // namespace

AcceleratorCounts MachineDevices::given_of(const Resources& ask) const {
  AcceleratorCounts out{};
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    if (!pool.devices()[kind].empty()) out[kind] = ask.accelerators[kind];
  }
  return out;
}

Result<void> give_devices(SlotSetup& setup, const DeviceGrant& grant, const MachineDevices& machine) {
  setup.device_lock = grant.lock.get();
  if (setup.container) {
    auto request = request_for(grant, setup.environment, machine.settings);
    if (!request) return pass(request);
    auto plan = std::make_shared<ContainerPlan>(*setup.container);
    for (const PoolDevice& it : grant.devices[kNvidia]) plan->gpus.push_back(it.id);
    if (runtime_for(plan->options) == ContainerRuntime::docker) {
      for (const PoolDevice& it : grant.devices[kNeuron]) {
        plan->edits.devices.push_back({.wanted = {concat("/dev/", it.id), concat("/dev/", it.id)}});
      }
    } else {
      if (machine.hook_program.empty()) {
        return fail(ErrorCode::not_found, "drover-hook is not installed beside drover: it prepares containers for GPUs",
                    "install the package that drover came with as a whole");
      }
      auto injection = machine.injector->inject(*request);
      if (!injection) return pass(injection);
      ContainerEdits edits = container_edits(injection->edits);
      std::ranges::move(edits.devices, std::back_inserter(plan->edits.devices));
      std::ranges::move(edits.mounts, std::back_inserter(plan->edits.mounts));
      std::ranges::move(edits.hooks, std::back_inserter(plan->edits.hooks));
      for (const std::string& it : edits.environment) {
        const std::size_t equals = it.find('=');
        set_variable(setup.environment, it.substr(0, equals), it.substr(equals + 1));
      }
      // What hooks do in a container's root is gone when the root is reset.
      plan->options.reuse = false;
    }
    setup.container = std::move(plan);
  }
  if (!grant.devices[kNvidia].empty()) {
    set_nvidia_variables(setup.environment, grant.devices[kNvidia], setup.container != nullptr);
  }
  if (!grant.devices[kNeuron].empty()) set_neuron_variables(setup.environment, grant.devices[kNeuron]);
  return {};
}

void hide_devices(SlotSetup& setup, const MachineDevices& machine) {
  if (setup.container || machine.pool.devices()[kNvidia].empty()) return;
  for (const auto& [name, value] :
       {std::pair("CUDA_VISIBLE_DEVICES", ""), std::pair("NVIDIA_VISIBLE_DEVICES", "void")}) {
    if (!has_variable(setup.environment, name)) set_variable(setup.environment, name, value);
  }
}

std::set<std::string> gpus_of(const DeviceGrant& grant) {
  std::set<std::string> out;
  for (const PoolDevice& it : grant.devices[kNvidia]) out.insert(it.id);
  return out;
}

void add_gpu_use(Usage& usage, const DeviceGrant& grant, const MachineDevices& machine) {
  if (machine.monitor == nullptr) return;
  const GpuUse use =
      machine.monitor->use_of(gpus_of(grant), usage.started_ms, usage.started_ms + (usage.wall_us + 500) / 1000);
  usage.gpu_busy_us = use.busy_us;
  usage.peak_gpu_memory_kib = use.peak_memory_kib;
  usage.gpu_energy_mj = use.energy_mj;
}

}  // namespace drover
