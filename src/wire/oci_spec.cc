#include "wire/oci_spec.h"

#include <sys/mount.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "wire/seccomp_profile.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kCpuPeriodUs = 100'000;

// What the kernel shows of the whole machine.
constexpr const char* kMasked[] = {"/proc/asound",
                                   "/proc/acpi",
                                   "/proc/kcore",
                                   "/proc/keys",
                                   "/proc/latency_stats",
                                   "/proc/timer_list",
                                   "/proc/timer_stats",
                                   "/proc/sched_debug",
                                   "/proc/scsi",
                                   "/sys/firmware",
                                   "/sys/devices/virtual/powercap"};
constexpr const char* kReadOnly[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};

template <class Texts>
json::array array_of(const Texts& texts) {
  json::array out;
  for (const auto& text : texts) out.emplace_back(std::string_view(text));
  return out;
}

struct FlagName {
  std::uint64_t flag;
  const char* name;
};
constexpr FlagName kFlagNames[] = {
    {MS_NOSUID, "nosuid"}, {MS_NOEXEC, "noexec"}, {MS_NODEV, "nodev"}, {MS_STRICTATIME, "strictatime"}};

json::object mount_of(const SpecMount& mount) {
  json::array options;
  for (const auto& [flag, name] : kFlagNames) {
    if ((mount.flags & flag) != 0) options.emplace_back(name);
  }
  std::string_view rest = mount.options;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    options.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return {{"destination", mount.place}, {"type", mount.type}, {"source", mount.type}, {"options", std::move(options)}};
}

/// With "ro" alone, what is mounted below could still be written.
json::object bound(const std::string& source, const std::string& target, bool read_only, bool has_recursive) {
  json::array options = {"rbind", "rprivate"};
  if (read_only) options.emplace_back("ro");
  if (read_only && has_recursive) options.emplace_back("rro");
  return {{"destination", target}, {"type", "bind"}, {"source", source}, {"options", std::move(options)}};
}

json::array mounts_of(const ContainerOptions& options, const ContainerPlace& place) {
  constexpr std::uint64_t kPlain = MS_NOSUID | MS_NOEXEC | MS_NODEV;
  json::array out;
  out.push_back(mount_of({"/proc", "proc", kPlain, ""}));
  out.push_back(mount_of({"/dev", "tmpfs", MS_NOSUID | MS_STRICTATIME, "mode=755,size=65536k"}));
  out.push_back(mount_of({"/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                          concat("newinstance,ptmxmode=0666,mode=0620", place.has_terminal_group ? ",gid=5" : "")}));
  const char* const access = options.privileged ? "rw" : "ro";
  if (place.is_rootless && options.network == ContainerNetwork::host) {
    out.push_back(bound("/sys", "/sys", true,
                        place.has_recursive_attributes));  // to make one takes rights over the network that it shows
  } else {
    out.push_back(mount_of({"/sys", "sysfs", kPlain, access}));
    if (!place.cgroups_path.empty()) out.push_back(mount_of({"/sys/fs/cgroup", "cgroup", kPlain, access}));
  }
  const bool recursive = place.has_recursive_attributes;
  // What a user names may lie in what a user names.
  std::vector<std::pair<std::size_t, json::object>> rest;
  const auto add = [&](const std::string& where, json::object mount) {
    rest.emplace_back(mount_depth(where), std::move(mount));
  };
  // Items of a warm container that is reset bring their own along.
  const bool are_brought = options.reuse && options.reset == ContainerReset::overlay;
  for (const SpecMount& mount : memory_mounts(options, place)) {
    if (!are_brought || !mount.place.starts_with("/dev/")) add(mount.place, mount_of(mount));
  }
  for (const char* name : kEtcFiles) {
    const std::string inside = concat("/etc/", name);
    add(inside, bound(concat(place.etc, "/", name), inside, true, false));
  }
  for (const PlacedMount& mount : place.mounts) {
    add(mount.target, bound(mount.source, mount.target, mount.read_only, mount.is_folder && recursive));
  }
  std::ranges::stable_sort(rest, {}, [](const auto& it) { return it.first; });
  for (auto& [depth, mount] : rest) out.push_back(std::move(mount));
  out.push_back(bound(place.first_process, kFirstProcessPlace, true, false));
  return out;
}

json::object seccomp_of(CapabilityMask capabilities) {
  json::array calls;
  for (const CallRule& rule : seccomp_profile(capabilities)) {
    json::object out{{"names", array_of(rule.names)},
                     {"action", rule.refused_with == 0 ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO"}};
    if (rule.refused_with != 0) out["errnoRet"] = rule.refused_with;
    json::array when;
    for (const CallCondition& condition : rule.when) {
      const bool is_masked = condition.test == CallTest::masked;
      when.push_back(json::object{{"index", condition.argument},
                                  {"value", is_masked ? condition.mask : condition.value},
                                  {"valueTwo", is_masked ? condition.value : 0},
                                  {"op", is_masked                            ? "SCMP_CMP_MASKED_EQ"
                                         : condition.test == CallTest::equals ? "SCMP_CMP_EQ"
                                                                              : "SCMP_CMP_NE"}});
    }
    if (!when.empty()) out["args"] = std::move(when);
    calls.push_back(std::move(out));
  }
#if defined(__x86_64__)
  json::array architectures = {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"};
#else
  json::array architectures = {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"};
#endif
  return {{"defaultAction", "SCMP_ACT_ERRNO"},
          {"defaultErrnoRet", 1},
          {"architectures", std::move(architectures)},
          {"syscalls", std::move(calls)}};
}

json::object process_of(const ContainerOptions& options, const ContainerPlace& place) {
  const json::array rights = array_of(capability_names(place.capabilities));
  json::array groups;
  for (const std::uint32_t group : place.groups) groups.emplace_back(group);
  json::array limits;
  for (const ContainerUlimit& limit : options.ulimits) {
    std::string name = "RLIMIT_";
    for (const char c : limit.name) name.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    limits.push_back(json::object{{"type", std::move(name)}, {"soft", limit.soft}, {"hard", limit.hard}});
  }
  json::object process{
      {"terminal", false},
      {"user", json::object{{"uid", place.user}, {"gid", place.group}, {"additionalGids", std::move(groups)}}},
      {"args", json::array{kFirstProcessPlace}},
      {"env", json::array{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
      {"cwd", place.workdir},
      {"capabilities", json::object{{"bounding", rights}, {"effective", rights}, {"permitted", rights}}},
      {"noNewPrivileges", !options.privileged}};
  if (!limits.empty()) process["rlimits"] = std::move(limits);
  return process;
}

json::object device_rule(bool allow, const char* type, std::int64_t major, std::int64_t minor,
                         const std::string& access) {
  json::object out{{"allow", allow}, {"access", access}};
  if (type != nullptr) out["type"] = type;
  if (major >= 0) out["major"] = major;
  if (minor >= 0) out["minor"] = minor;
  return out;
}

json::object resources_of(const ContainerOptions& options, const ContainerPlace& place) {
  json::object out;
  if (place.cgroups_path.empty()) return out;
  json::array devices = {device_rule(options.privileged, nullptr, -1, -1, "rwm")};
  for (const DeviceNode& node : place.devices) {
    devices.push_back(device_rule(true, node.is_block ? "b" : "c", node.major, node.minor, node.wanted.access));
  }
  // Who is not root can open what his user may, and make none.
  if (!place.is_rootless) out["devices"] = std::move(devices);
  const ItemLimits& limits = place.limits;
  if (limits.memory_bytes > 0) {
    out["memory"] = json::object{{"limit", limits.memory_bytes}, {"swap", limits.memory_bytes}};
  }
  if (limits.milli_cpus > 0) {
    out["cpu"] = json::object{{"quota", limits.milli_cpus * kCpuPeriodUs / 1000}, {"period", kCpuPeriodUs}};
  }
  // One more, for the first process, which is ours.
  constexpr std::uint32_t kMostProcesses = 4096;
  out["pids"] = json::object{{"limit", limits.processes > 0 ? limits.processes + 1 : kMostProcesses}};
  return out;
}

json::object linux_of(const ContainerOptions& options, const ContainerPlace& place) {
  json::array namespaces;
  for (const char* type : {"pid", "ipc", "uts", "mount"}) namespaces.push_back(json::object{{"type", type}});
  if (options.network == ContainerNetwork::none) namespaces.push_back(json::object{{"type", "network"}});
  if (place.has_cgroup_v2) namespaces.push_back(json::object{{"type", "cgroup"}});
  json::array devices;
  for (const DeviceNode& node : place.devices) {
    devices.push_back(json::object{{"path", node.wanted.inside},
                                   {"type", node.is_block ? "b" : "c"},
                                   {"major", node.major},
                                   {"minor", node.minor},
                                   {"fileMode", node.mode & 0777},
                                   {"uid", node.user},
                                   {"gid", node.group}});
  }
  json::object out{{"namespaces", std::move(namespaces)},
                   {"devices", std::move(devices)},
                   {"resources", resources_of(options, place)}};
  if (!place.cgroups_path.empty()) out["cgroupsPath"] = place.cgroups_path;
  if (options.privileged) return out;
  out["maskedPaths"] = array_of(kMasked);
  out["readonlyPaths"] = array_of(kReadOnly);
  out["seccomp"] = seccomp_of(place.capabilities);
  return out;
}

json::object hooks_of(const ContainerPlace& place) {
  json::object out;
  for (const ContainerEdits::Hook& hook : place.hooks) {
    json::value& stage = out[hook.stage];
    if (!stage.is_array()) stage = json::array{};
    stage.get_array().push_back(
        json::object{{"path", hook.path}, {"args", array_of(hook.arguments)}, {"env", array_of(hook.environment)}});
  }
  return out;
}

}  // namespace

std::vector<SpecMount> memory_mounts(const ContainerOptions& options, const ContainerPlace& place) {
  constexpr std::uint64_t kPlain = MS_NOSUID | MS_NOEXEC | MS_NODEV;
  std::vector<SpecMount> out = {{"/dev/shm", "tmpfs", kPlain, concat("mode=1777,size=", options.shm_bytes)},
                                {"/dev/mqueue", "mqueue", kPlain, ""}};
  std::erase_if(out, [&](const SpecMount& usual) {
    return std::ranges::any_of(place.mounts, [&](const PlacedMount& it) { return it.target == usual.place; }) ||
           std::ranges::any_of(options.tmpfs, [&](const ContainerTmpfs& it) { return it.target == usual.place; });
  });
  for (const ContainerTmpfs& tmpfs : options.tmpfs) {
    const std::uint64_t size = tmpfs.size_bytes > 0 ? tmpfs.size_bytes : place.limits.memory_bytes;
    out.push_back({tmpfs.target, "tmpfs", MS_NOSUID | MS_NODEV,
                   size > 0 ? concat("mode=1777,size=", size) : std::string("mode=1777")});
  }
  return out;
}

std::size_t mount_depth(const std::string& place) {
  return place == "/" ? 0 : static_cast<std::size_t>(std::ranges::count(place, '/'));
}

std::string oci_spec(const ContainerOptions& options, const ContainerPlace& place) {
  json::object spec{{"ociVersion", "1.0.2"},
                    {"process", process_of(options, place)},
                    {"root", json::object{{"path", "rootfs"}, {"readonly", options.read_only}}},
                    {"hostname", place.hostname},
                    {"mounts", mounts_of(options, place)},
                    {"linux", linux_of(options, place)}};
  if (!place.hooks.empty()) spec["hooks"] = hooks_of(place);
  return json::serialize(spec);
}

}  // namespace drover
