#include "run/docker/container_body.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/utf8.h"
#include "wire/capabilities.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::int64_t kCpuPeriodUs = 100'000;
constexpr std::int64_t kLeastCpuQuotaUs = 1'000;
// A container that names no limit still has one: a program that forks without end must not take the machine.
constexpr std::int64_t kMostProcesses = 4096;
// What a unit of nice is worth, as the kernel counts it.
constexpr double kNiceStep = 1.25;
constexpr double kUsualShares = 1024;
constexpr double kLeastShares = 2;
constexpr double kMostShares = 262'144;

json::array texts(const std::vector<std::string>& values) {
  json::array array;
  for (const std::string& value : values) array.emplace_back(value);
  return array;
}

std::vector<std::string> words_of(const Task& task) {
  std::vector<std::string> words = task.arguments;
  if (!words.empty()) words.front() = task.program;
  return words;
}

json::array mounts_of(const ContainerPlan& plan) {
  json::array made;
  for (const std::vector<ContainerMount>* mounts : {&plan.options.mounts, &plan.edits.mounts}) {
    for (const ContainerMount& mount : *mounts) {
      made.push_back(json::object{{"Type", mount.source.starts_with('/') ? "bind" : "volume"},
                                  {"Source", mount.source},
                                  {"Target", mount.target},
                                  {"ReadOnly", mount.read_only}});
      if (mount.create) made.back().get_object()["BindOptions"] = json::object{{"CreateMountpoint", true}};
    }
  }
  return made;
}

json::object tmpfs_of(const ContainerPlan& plan, const ItemLimits& limits) {
  json::object made;
  for (const ContainerTmpfs& tmpfs : plan.options.tmpfs) {
    const std::uint64_t size = tmpfs.size_bytes > 0 ? tmpfs.size_bytes : limits.memory_bytes;
    made[tmpfs.target] = concat("rw,exec,nosuid,nodev,mode=1777", size > 0 ? concat(",size=", size) : std::string());
  }
  return made;
}

json::array devices_of(const ContainerPlan& plan) {
  json::array made;
  const auto add = [&](const ContainerDevice& device) {
    made.push_back(json::object{{"PathOnHost", device.host},
                                {"PathInContainer", device.inside.empty() ? device.host : device.inside},
                                {"CgroupPermissions", device.access}});
  };
  for (const ContainerDevice& device : plan.options.devices) add(device);
  for (const ContainerEdits::Device& device : plan.edits.devices) add(device.wanted);
  return made;
}

/// As docker run --gpus asks for them: Docker, or the runtime that it has, brings them in.
json::array device_requests_of(const ContainerPlan& plan) {
  if (plan.gpus.empty()) return {};
  return {json::object{{"DeviceIDs", texts(plan.gpus)}, {"Capabilities", json::array{json::array{"gpu"}}}}};
}

json::array ulimits_of(const ContainerPlan& plan) {
  json::array made;
  for (const ContainerUlimit& limit : plan.options.ulimits) {
    made.push_back(json::object{{"Name", limit.name},
                                {"Soft", static_cast<std::int64_t>(limit.soft)},
                                {"Hard", static_cast<std::int64_t>(limit.hard)}});
  }
  return made;
}

/// Docker's own default has NET_RAW, and Drover's has not (wire/capabilities.cc).
json::array dropped_capabilities(const ContainerOptions& options) {
  json::array made = texts(options.drop_capabilities);
  const CapabilityMask raw = capability_named("NET_RAW").value_or(0);
  const bool is_wanted = std::ranges::any_of(options.add_capabilities, [&](const std::string& name) {
    return (capability_named(name).value_or(0) & raw) != 0;
  });
  const bool is_dropped = std::ranges::any_of(options.drop_capabilities, [&](const std::string& name) {
    return (capability_named(name).value_or(0) & raw) != 0;
  });
  if (!is_wanted && !is_dropped) made.emplace_back("NET_RAW");
  return made;
}

void limit(json::object& host, const ItemLimits& limits, const ContainerPlan& plan) {
  if (limits.memory_bytes > 0) {
    host["Memory"] = host["MemorySwap"] = limits.memory_bytes;
  }
  if (limits.milli_cpus > 0) {
    host["CpuPeriod"] = kCpuPeriodUs;
    host["CpuQuota"] = std::max(std::int64_t{limits.milli_cpus} * kCpuPeriodUs / 1'000, kLeastCpuQuotaUs);
  }
  if (limits.nice != 0) {
    const double shares = kUsualShares * std::pow(kNiceStep, -limits.nice);
    host["CpuShares"] = static_cast<std::int64_t>(std::clamp(shares, kLeastShares, kMostShares));
  }
  host["PidsLimit"] = (limits.processes > 0 ? std::int64_t{limits.processes} : kMostProcesses) + plan.options.init;
  host["ShmSize"] = plan.options.shm_bytes;
  if (plan.options.disk_bytes > 0) host["StorageOpt"] = {{"size", std::to_string(plan.options.disk_bytes)}};
}

json::object host_config(const SlotSetup& setup, const DaemonPlace& place) {
  const ContainerPlan& plan = *setup.container;
  const ContainerOptions& options = plan.options;
  json::object host{
      {"NetworkMode", options.network == ContainerNetwork::host ? "host" : "none"},
      {"Init", options.init},
      {"ReadonlyRootfs", options.read_only},
      {"Privileged", options.privileged},
      {"CapAdd", texts(options.add_capabilities)},
      {"CapDrop", dropped_capabilities(options)},
      {"Mounts", mounts_of(plan)},
      {"Tmpfs", tmpfs_of(plan, setup.limits)},
      {"Devices", devices_of(plan)},
      {"DeviceRequests", device_requests_of(plan)},
      {"Ulimits", ulimits_of(plan)},
      // It is heard as it is printed: nothing of it is kept there.
      {"LogConfig", {{"Type", "none"}}},
      {"RestartPolicy", {{"Name", "no"}}},
  };
  if (!options.privileged) host["SecurityOpt"] = {"no-new-privileges"};
  if (!place.cgroup_parent.empty()) host["CgroupParent"] = place.cgroup_parent;
  limit(host, setup.limits, plan);
  return host;
}

json::object container(const SlotSetup& setup, const DaemonPlace& place) {
  const ContainerOptions& options = setup.container->options;
  json::object made{
      {"Image", place.image},
      {"AttachStdout", true},
      {"AttachStderr", true},
      {"Labels", {{"drover.owner", place.owner}, {"drover.slot", place.slot}}},
  };
  if (!options.user.empty()) made["User"] = options.user;
  if (!options.hostname.empty()) made["Hostname"] = options.hostname;
  if (!setup.workdir.empty()) made["WorkingDir"] = setup.workdir;
  return made;
}

bool is_tellable(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char next = utf8_char(text, at);
    if (!next.valid) return false;
    at += next.length;
  }
  return true;
}

}  // namespace

std::vector<std::string> merged_environment(const std::vector<const std::vector<std::string>*>& parts) {
  std::vector<std::string> merged;
  std::map<std::string_view, std::size_t> places;
  for (const std::vector<std::string>* part : parts) {
    for (const std::string& variable : *part) {
      const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
      const auto [found, is_new] = places.try_emplace(name, merged.size());
      if (is_new) {
        merged.push_back(variable);
      } else {
        merged[found->second] = variable;
      }
    }
  }
  return merged;
}

json::object container_for(const SlotSetup& setup, const DaemonPlace& place, const Task& task) {
  const ContainerPlan& plan = *setup.container;
  json::object made = container(setup, place);
  made["Env"] = texts(merged_environment({&plan.edits.environment, &setup.environment, &task.environment}));
  if (plan.options.entrypoint) {
    // An empty word takes the image's away.
    made["Entrypoint"] = plan.options.entrypoint->empty() ? json::array{""} : texts(*plan.options.entrypoint);
  }
  if (!task.arguments.empty()) made["Cmd"] = texts(words_of(task));
  made["HostConfig"] = host_config(setup, place);
  return made;
}

json::object warm_container(const SlotSetup& setup, const DaemonPlace& place, const std::string& pause_folder,
                            const std::string& pause) {
  json::object made = container(setup, place);
  made["Env"] = texts(merged_environment({&setup.container->edits.environment, &setup.environment}));
  made["Entrypoint"] = json::array{concat(pause_folder, "/", pause)};
  made["Cmd"] = json::array{};
  made["Volumes"] = json::object{{pause_folder, json::object{}}};
  json::object host = host_config(setup, place);
  // Its own are an init, which is there in any case, and what it waits in.
  host["PidsLimit"] = host["PidsLimit"].as_int64() + (host["Init"].as_bool() ? 1 : 2);
  host["Init"] = true;
  made["HostConfig"] = std::move(host);
  return made;
}

json::object command_for(const SlotSetup& setup, const ImageDefaults& image, const Task& task) {
  const ContainerPlan& plan = *setup.container;
  std::vector<std::string> words = plan.options.entrypoint.value_or(image.entrypoint);
  // As Docker has it: an entry point that is not the image's own takes nothing from the image.
  const std::vector<std::string> rest =
      task.arguments.empty() && !plan.options.entrypoint ? image.command : words_of(task);
  words.insert(words.end(), rest.begin(), rest.end());
  json::object made{
      {"AttachStdout", true},
      {"AttachStderr", true},
      {"Cmd", texts(words)},
      {"Env", texts(merged_environment({&task.environment}))},
      {"Privileged", plan.options.privileged},
  };
  if (!setup.workdir.empty()) made["WorkingDir"] = setup.workdir;
  return made;
}

std::string why_not_told(const SlotSetup& setup, const Task& task) {
  const auto problem = [&](std::string_view what) {
    return concat("could not start ", utf8(task.program), ": its command or environment contains ", what);
  };
  for (const std::vector<std::string>* part : {&task.arguments, &task.environment, &setup.environment}) {
    for (const std::string& text : *part) {
      if (text.find('\0') != std::string::npos) return problem("a NUL byte");
      if (!is_tellable(text)) return problem("bytes that are not UTF-8, which Docker does not accept");
    }
  }
  if (!is_tellable(task.program)) return problem("bytes that are not UTF-8, which Docker does not accept");
  return {};
}

std::string why_not_possible(const SlotSetup& setup) {
  if (!setup.container->edits.hooks.empty()) return "Docker does not support container hooks";
  return {};
}

}  // namespace drover
