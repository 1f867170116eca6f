#include "accel/device_request.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::string_view kMountFolder = "/var/run/nvidia-container-devices";
constexpr std::string_view kMachineKind = "runtime.nvidia.com/gpu=";
constexpr unsigned kUsual = NvidiaCapabilities::utility | NvidiaCapabilities::compute;

struct ExtraVariable {
  const char* variable;
  std::string_view name;
};
constexpr ExtraVariable kExtras[] = {
    {"NVIDIA_GDS", "gds"}, {"NVIDIA_MOFED", "mofed"}, {"NVIDIA_GDRCOPY", "gdrcopy"}, {"NVIDIA_NVSWITCH", "nvswitch"}};

std::string value_of(const OciFacts& container, const std::string& name) {
  const char* value = container.variable(name);
  return value != nullptr ? value : "";
}

void add_words(std::vector<std::string>& to, std::string_view list) {
  while (!list.empty()) {
    const std::string_view word = trimmed(take_until(list, ','));
    if (!word.empty() && std::ranges::find(to, word) == to.end()) to.emplace_back(word);
  }
}

/// As Go's strconv.ParseBool takes it; what is not one of its words is false.
bool is_true(std::string_view text) {
  constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
  return std::ranges::find(kTrue, text) != std::end(kTrue);
}

/// Images from before there were requirements: they say their version of CUDA, and mean all GPUs.
bool is_legacy_image(const OciFacts& container) {
  return container.variable("CUDA_VERSION") != nullptr && container.variable("NVIDIA_REQUIRE_CUDA") == nullptr;
}

/// The devices that mounts of /dev/null ask for: ID, cdi/VENDOR/CLASS/NAME or cdi/VENDOR/CLASS=NAME.
void add_mounted(const OciFacts& container, std::vector<std::string>& devices, std::vector<std::string>& channels) {
  for (const OciFacts::Mount& mount : container.mounts) {
    std::string_view path = mount.destination;
    if (mount.source != "/dev/null" || !path.starts_with(kMountFolder)) continue;
    path.remove_prefix(kMountFolder.size());
    if (!path.starts_with('/')) continue;
    path.remove_prefix(1);
    if (path.starts_with("imex/")) {
      channels.emplace_back(path.substr(5));
    } else if (path.starts_with("cdi/")) {
      std::string name(path.substr(4));
      if (name.find('=') == std::string::npos && name.rfind('/') != std::string::npos) name[name.rfind('/')] = '=';
      devices.push_back(std::move(name));
    } else if (!path.empty() && path.find('/') == std::string_view::npos) {
      devices.emplace_back(path);
    }
  }
}

/// What NVIDIA_VISIBLE_DEVICES, or what replaces it, says; nothing: it is not set.
std::optional<std::string> visible_devices(const OciFacts& container, const AccelSettings& settings) {
  std::optional<std::string> swarm;
  for (const std::string& name : settings.swarm_variables) {
    const std::string value = value_of(container, name);
    if (!value.empty()) swarm = swarm ? concat(*swarm, ",", value) : value;
  }
  if (swarm) return swarm;
  if (const char* value = container.variable("NVIDIA_VISIBLE_DEVICES")) return value;
  if (is_legacy_image(container)) return "all";
  return std::nullopt;
}

void add_devices(DeviceRequest& request, const std::vector<std::string>& names, const AccelSettings& settings) {
  const auto is_word = [&](std::string_view word) { return std::ranges::find(names, word) != names.end(); };
  if (names.empty() || is_word("void")) return;
  const bool are_all_cdi = std::ranges::all_of(names, is_cdi_name);
  for (std::string name : names) {
    if (name == "none") {
      request.wants_driver = true;
      continue;
    }
    if (name.starts_with(kMachineKind)) {
      name.erase(0, kMachineKind.size());
    } else if (is_cdi_name(name) && (are_all_cdi || settings.mode == AccelMode::cdi)) {
      request.cdi.push_back(std::move(name));
      continue;
    } else if (settings.mode == AccelMode::cdi) {
      request.cdi.push_back(concat(settings.default_kind, "=", name));
      continue;
    }
    request.wants_driver = true;
    if (name == "all") {
      request.wants_all_gpus = true;
    } else {
      request.gpus.push_back(std::move(name));
    }
  }
}

Result<void> add_capabilities(DeviceRequest& request, const OciFacts& container, const AccelSettings& settings) {
  const char* text = container.variable("NVIDIA_DRIVER_CAPABILITIES");
  if (text == nullptr || *text == '\0') {
    request.capabilities = is_legacy_image(container) ? settings.supported : NvidiaCapabilities(kUsual);
    request.capabilities = NvidiaCapabilities(request.capabilities.bits() & settings.supported.bits());
    return {};
  }
  auto wanted = NvidiaCapabilities::parse(text);
  if (!wanted) {
    return fail(ErrorCode::bad_input, concat("NVIDIA_DRIVER_CAPABILITIES: ", wanted.error().message),
                std::move(wanted.error().next));
  }
  const bool is_all = wanted->bits() == NvidiaCapabilities::all;
  if (!is_all && (wanted->bits() & ~settings.supported.bits()) != 0) {
    return fail(ErrorCode::denied, concat("the driver capabilities '", text, "' are not all allowed here"),
                "allow them with supported-driver-capabilities in config.toml");
  }
  request.capabilities = NvidiaCapabilities(wanted->bits() & settings.supported.bits());
  return {};
}

void add_requirements(DeviceRequest& request, const OciFacts& container, const AccelSettings& settings) {
  if (!settings.checks_requirements || is_true(value_of(container, "NVIDIA_DISABLE_REQUIRE"))) return;
  constexpr std::string_view kPrefix = "NVIDIA_REQUIRE_";
  for (const std::string& variable : container.environment) {
    const std::string name = variable.substr(0, variable.find('='));
    // Jetpack's is for other machines.
    if (!name.starts_with(kPrefix) || name == "NVIDIA_REQUIRE_JETPACK") continue;
    std::string value = value_of(container, name);
    const bool is_there = std::ranges::find(request.requirements, value) != request.requirements.end();
    if (!value.empty() && !is_there) request.requirements.push_back(std::move(value));
  }
  const std::string version = value_of(container, "CUDA_VERSION");
  if (is_legacy_image(container) && !version.empty()) {
    const std::size_t second = version.find('.', version.find('.') + 1);
    request.requirements.push_back(concat("cuda>=", version.substr(0, second)));
  }
}

Result<void> add_nvidia(DeviceRequest& request, const OciFacts& container, const AccelSettings& settings) {
  auto annotated = cdi_names_in(container.annotations, settings.annotation_prefixes);
  if (!annotated) return pass(annotated);
  std::vector<std::string> names;
  if (settings.takes_mounts) add_mounted(container, names, request.imex_channels);
  const bool takes_variables = settings.takes_variables_of_all || container.is_privileged;
  if (!annotated->empty()) {
    names.clear();
    request.cdi = std::move(*annotated);
  } else if (names.empty()) {
    const auto variable = visible_devices(container, settings);
    if (variable && takes_variables) add_words(names, *variable);
    if (variable && !takes_variables && *variable != "void" && !variable->empty()) {
      request.notices.push_back(
          "NVIDIA_VISIBLE_DEVICES is ignored: the container is not privileged, and config.toml has "
          "accept-nvidia-visible-devices-envvar-when-unprivileged = false");
    }
  }
  add_devices(request, names, settings);
  if (!request.wants_driver) return {};
  if (auto added = add_capabilities(request, container, settings); !added) return added;
  add_requirements(request, container, settings);
  if (!takes_variables) return {};
  if (request.imex_channels.empty()) add_words(request.imex_channels, value_of(container, "NVIDIA_IMEX_CHANNELS"));
  for (const auto& [variable, name] : kExtras) {
    if (value_of(container, variable) == "enabled") request.extras.emplace_back(name);
  }
  for (const auto& [variable, flag] : {std::pair("NVIDIA_MIG_CONFIG_DEVICES", &DeviceRequest::sees_mig_config),
                                       std::pair("NVIDIA_MIG_MONITOR_DEVICES", &DeviceRequest::sees_mig_monitor)}) {
    if (value_of(container, variable).empty()) continue;
    if (!container.is_privileged) {
      return fail(ErrorCode::denied, concat("only privileged containers can set ", variable),
                  "remove the variable, or run the container with --privileged");
    }
    request.*flag = true;
  }
  return {};
}

Result<void> add_neuron(DeviceRequest& request, const OciFacts& container, const AccelSettings& settings) {
  const std::string text = value_of(container, "AWS_NEURON_VISIBLE_DEVICES");
  if (text.empty()) return {};
  if (!settings.takes_variables_of_all && !container.is_privileged) {
    request.notices.push_back("AWS_NEURON_VISIBLE_DEVICES is ignored: the container is not privileged");
    return {};
  }
  if (is_same_but_for_case(text, "all")) {
    request.wants_all_neuron = true;
    return {};
  }
  std::vector<std::string> words;
  add_words(words, text);
  for (const std::string& word : words) {
    const auto number = parse_number(word);
    if (!number || *number > 4095) {
      return fail(ErrorCode::bad_input,
                  concat("AWS_NEURON_VISIBLE_DEVICES: '", word, "' is not the number of a device"),
                  "set it to ALL, or to a comma list such as 0,1");
    }
    request.neuron.push_back(static_cast<std::uint32_t>(*number));
  }
  std::ranges::sort(request.neuron);
  for (std::size_t i = 1; i < request.neuron.size(); ++i) {
    if (request.neuron[i] == request.neuron[i - 1] + 1) continue;
    return fail(ErrorCode::bad_input, concat("AWS_NEURON_VISIBLE_DEVICES: the devices ", text, " are not contiguous"),
                "name devices that follow one another, such as 2,3");
  }
  return {};
}

}  // namespace

Result<DeviceRequest> device_request(const OciFacts& container, const AccelSettings& settings, AccelVendor vendor) {
  DeviceRequest request;
  if (vendor != AccelVendor::neuron) {
    if (auto added = add_nvidia(request, container, settings); !added) return pass(added);
  }
  if (vendor != AccelVendor::nvidia) {
    if (auto added = add_neuron(request, container, settings); !added) return pass(added);
  }
  return request;
}

}  // namespace drover
