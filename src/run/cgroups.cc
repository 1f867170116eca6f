#include "run/cgroups.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include "base/text.h"
#include "run/cgroup_tree.h"
#include "run/owner.h"
#include "run/system_files.h"

namespace drover {
namespace {

constexpr const char* kPrefix = "drover-";
constexpr std::uint64_t kCpuPeriodUs = 100'000;
// A slot that names no limit still has one: a program that forks without end must not take the machine.
constexpr std::uint32_t kMostProcesses = 4096;

/// "drover-PID-STARTTIME-N-nsNAMESPACE"; behind it a helper may put ".rK".
std::string new_name() {
  static std::atomic<std::uint64_t> number = 0;
  const Owner& us = this_process();
  return concat(kPrefix, us.pid, "-", us.started, "-", ++number, "-ns", us.pid_namespace);
}

bool belongs_to_the_dead(const std::string& name) {
  if (!name.starts_with(kPrefix)) return false;
  const std::string own_name =
      name.substr(std::string_view(kPrefix).size(), name.find(".r") - std::string_view(kPrefix).size());
  const auto parts = split_fields(own_name, '-');
  if (parts.size() != 4 || !parts[3].starts_with("ns")) return false;
  return !Owner{parts[0], parts[1], parts[3].substr(2)}.is_alive();
}

void sweep(const std::string& parent) {
  for (const std::string& folder : subfolders_of(parent)) {
    if (belongs_to_the_dead(folder.substr(parent.size() + 1))) remove_cgroup_tree(folder);
  }
}

/// The one that was made here, and those that the helper put in its place.
void remove_with_renewals(const std::string& folder) {
  const std::size_t slash = folder.rfind('/');
  const std::string name = folder.substr(slash + 1);
  for (const std::string& each : subfolders_of(folder.substr(0, slash))) {
    const std::string other = each.substr(slash + 1);
    if (other == name || other.starts_with(name + ".r")) remove_cgroup_tree(each);
  }
}

/// Where cgroup file systems are mounted, and which part of the tree each shows.
struct Mount {
  std::string root;
  std::string place;
  bool is_v2 = false;
  std::vector<std::string> controllers;
};

std::vector<Mount> mounts() {
  std::vector<Mount> found;
  std::ifstream info("/proc/self/mountinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split_fields(line.substr(0, dash), ' ');
    const auto after = split_fields(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.empty() || !after[0].starts_with("cgroup")) continue;
    found.push_back({before[3], before[4], after[0] == "cgroup2", split_fields(after.back(), ',')});
  }
  return found;
}

/// The folder of this process's own cgroup for a controller ("" for version 2's), if it can be seen.
std::string own_folder(const std::string& controller) {
  std::string path;
  bool known = false;
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const auto parts = split_fields(line, ':');
    if (parts.size() < 3) continue;
    const auto names = split_fields(parts[1], ',');
    const bool ours = controller.empty() ? parts[0] == "0" : std::ranges::find(names, controller) != names.end();
    if (!ours) continue;
    path = line.substr(line.find(':', line.find(':') + 1) + 1);
    known = true;
  }
  if (!known) return {};
  for (const Mount& mount : mounts()) {
    const bool fits = controller.empty()
                          ? mount.is_v2
                          : !mount.is_v2 && std::ranges::find(mount.controllers, controller) != mount.controllers.end();
    if (!fits) continue;
    // A container may see only its own part of the tree, mounted as if it were all.
    std::string below = path;
    if (mount.root != "/" && below.starts_with(mount.root)) below = below.substr(mount.root.size());
    if (below == "/") below.clear();
    std::string folder = mount.place + below;
    if (::access(folder.c_str(), F_OK) != 0) folder = mount.place;
    return folder;
  }
  return {};
}

bool may_make_below(const std::string& folder) {
  if (folder.empty()) return false;
  const std::string trial = concat(folder, "/", new_name());
  if (::mkdir(trial.c_str(), 0755) != 0) return false;
  ::rmdir(trial.c_str());
  return true;
}

bool gives_its_children(const std::string& folder, std::string_view controller) {
  const auto enabled = split_fields(read_system_file(folder + "/cgroup.subtree_control"), ' ');
  return std::ranges::any_of(
      enabled, [&](const std::string& it) { return std::string_view(it).substr(0, it.find('\n')) == controller; });
}

/// The nearest folder at or above ours below which memory, cpu and pids can be limited: a cgroup of version 2 that has
/// processes of its own hands no controllers on.
std::string v2_parent() {
  const std::string place = [] {
    for (const Mount& mount : mounts()) {
      if (mount.is_v2) return mount.place;
    }
    return std::string();
  }();
  if (place.empty()) return {};
  for (std::string folder = own_folder(""); folder.size() >= place.size();
       folder = folder.substr(0, folder.rfind('/'))) {
    if (!may_make_below(folder)) continue;
    write_system_file(folder + "/cgroup.subtree_control", "+memory +pids +cpu");
    if (gives_its_children(folder, "memory") && gives_its_children(folder, "pids") &&
        gives_its_children(folder, "cpu")) {
      return folder;
    }
    if (folder == place) break;
  }
  return {};
}

/// The folder as a hierarchy's own root sees it.
struct Seen {
  std::string place;
  std::string below;
};

Seen seen_from_root(const std::string& folder) {
  Seen best;
  for (const Mount& mount : mounts()) {
    if (folder.starts_with(mount.place) && mount.place.size() > best.place.size()) {
      best = {mount.place, folder.substr(mount.place.size())};
    }
  }
  return best;
}

bool has_any(const Mount& mount, std::initializer_list<const char*> controllers) {
  return std::ranges::any_of(controllers, [&](const char* controller) {
    return std::ranges::find(mount.controllers, controller) != mount.controllers.end();
  });
}

}  // namespace

void SlotCgroup::remove() {
  for (const std::string& folder : join) remove_with_renewals(folder);
  if (!clone_into.empty()) remove_with_renewals(clone_into);
  *this = {};
}

void ContainerCgroup::remove() const {
  remove_cgroup_trees(folders);
}

// Containers are in every hierarchy, at the place that our own memory is counted at.
ContainerCgroup Cgroups::for_container() const {
  ContainerCgroup made;
  const std::vector<Mount> all = mounts();
  const bool has_v1 = std::ranges::any_of(all, [](const Mount& it) { return !it.is_v2; });
  for (const Mount& mount : all) {
    if (has_v1 && mount.is_v2) made.unified = mount.place;
  }
  if (version_ == CgroupVersion::none) return made;
  made.is_v2 = version_ == CgroupVersion::v2;
  const Seen seen = seen_from_root(memory_.empty() ? pids_ : memory_);
  made.path = concat(seen.below, "/", new_name());
  for (const Mount& mount : all) {
    if (made.is_v2 && mount.place != seen.place) continue;
    const std::string folder = mount.place + made.path;
    made.folders.push_back(folder);
    if (made.is_v2) {
      made.clone_into = folder;
      made.kill_counts = folder + "/memory.events";
      made.members = folder + "/cgroup.procs";
      continue;
    }
    if (has_any(mount, {"memory"})) made.kill_counts = folder + "/memory.oom_control";
    if (has_any(mount, {"pids"})) made.members = folder + "/cgroup.procs";
    if (has_any(mount, {"memory", "pids", "cpu", "cpuacct", "devices"})) made.join.push_back(folder);
  }
  return made;
}

Cgroups Cgroups::find() {
  Cgroups found;
  if (std::string parent = v2_parent(); !parent.empty()) {
    found.version_ = CgroupVersion::v2;
    found.pids_ = found.memory_ = found.cpu_ = parent;
  } else {
    for (const auto& [controller, folder] :
         {std::pair("pids", &found.pids_), {"memory", &found.memory_}, {"cpu", &found.cpu_}}) {
      if (std::string own = own_folder(controller); may_make_below(own)) *folder = std::move(own);
    }
    if (!found.memory_.empty() || !found.pids_.empty()) found.version_ = CgroupVersion::v1;
  }
  for (const std::string& folder : {found.pids_, found.memory_, found.cpu_}) {
    if (!folder.empty()) sweep(folder);
  }
  if (found.version_ == CgroupVersion::v1) {
    const Seen seen = seen_from_root(found.memory_.empty() ? found.pids_ : found.memory_);
    for (const Mount& mount : mounts()) {
      sweep(mount.place + seen.below);
      if (mount.is_v2) sweep(own_folder(""));
    }
  }
  return found;
}

SlotCgroup Cgroups::make(const ItemLimits& limits) const {
  switch (version_) {
    case CgroupVersion::none: break;
    case CgroupVersion::v1: return make_v1(limits);
    case CgroupVersion::v2: return make_v2(limits);
  }
  return {};
}

SlotCgroup Cgroups::make_v1(const ItemLimits& limits) const {
  SlotCgroup made;
  const std::string name = new_name();
  const auto add = [&](const std::string& parent) {
    if (parent.empty()) return std::string();
    std::string folder = concat(parent, "/", name);
    if (std::ranges::find(made.join, folder) != made.join.end()) return folder;  // controllers mounted together
    if (::mkdir(folder.c_str(), 0755) != 0) return std::string();
    made.join.push_back(folder);
    return folder;
  };
  if (const std::string folder = add(pids_); !folder.empty()) {
    write_system_file(folder + "/pids.max",
                      std::to_string(limits.processes > 0 ? limits.processes + 1 : kMostProcesses));
  }
  if (const std::string folder = add(memory_); !folder.empty()) {
    made.kill_counts = folder + "/memory.oom_control";
    if (limits.memory_bytes > 0) {
      const std::string bytes = std::to_string(limits.memory_bytes);
      made.holds_memory = write_system_file(folder + "/memory.limit_in_bytes", bytes);
      write_system_file(folder + "/memory.memsw.limit_in_bytes", bytes);  // with swap, where swap is counted
    }
  }
  if (limits.milli_cpus > 0) {
    if (const std::string folder = add(cpu_); !folder.empty()) {
      write_system_file(folder + "/cpu.cfs_period_us", std::to_string(kCpuPeriodUs));
      made.holds_cpus =
          write_system_file(folder + "/cpu.cfs_quota_us", std::to_string(limits.milli_cpus * kCpuPeriodUs / 1000));
    }
  }
  return made;
}

SlotCgroup Cgroups::make_v2(const ItemLimits& limits) const {
  SlotCgroup made;
  const std::string folder = concat(memory_, "/", new_name());
  if (::mkdir(folder.c_str(), 0755) != 0) return made;
  made.clone_into = folder;
  made.kill_counts = folder + "/memory.events";
  write_system_file(folder + "/pids.max", std::to_string(limits.processes > 0 ? limits.processes : kMostProcesses));
  write_system_file(folder + "/memory.oom.group", "1");
  if (limits.memory_bytes > 0) {
    made.holds_memory = write_system_file(folder + "/memory.max", std::to_string(limits.memory_bytes));
    write_system_file(folder + "/memory.swap.max", "0");
  }
  if (limits.milli_cpus > 0) {
    made.holds_cpus =
        write_system_file(folder + "/cpu.max", concat(limits.milli_cpus * kCpuPeriodUs / 1000, " ", kCpuPeriodUs));
  }
  return made;
}

}  // namespace drover
