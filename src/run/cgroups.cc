#include "run/cgroups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "host/cgroup_mounts.h"
#include "host/cgroup_tree.h"
#include "host/system_files.h"

namespace drover {
namespace {

constexpr std::uint64_t kCpuPeriodUs = 100'000;
// A slot that names no limit still has one: a program that forks without end must not take the machine.
constexpr std::uint32_t kMostProcesses = 4096;

void sweep(const std::string& parent) {
  for (const std::string& folder : subfolders_of(parent)) {
    if (is_cgroup_of_the_dead(folder.substr(parent.size() + 1))) remove_cgroup_tree(folder);
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

bool has_any(const CgroupMount& mount, std::initializer_list<const char*> controllers) {
  return std::ranges::any_of(controllers, [&](const char* controller) { return mount.has(controller); });
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
  const std::vector<CgroupMount> all = cgroup_mounts();
  const bool has_v1 = std::ranges::any_of(all, [](const CgroupMount& it) { return !it.is_v2; });
  for (const CgroupMount& mount : all) {
    if (has_v1 && mount.is_v2) made.unified = mount.place;
  }
  if (version_ == CgroupVersion::none) return made;
  made.is_v2 = version_ == CgroupVersion::v2;
  const SeenCgroup seen = seen_from_root(memory_.empty() ? pids_ : memory_);
  made.path = concat(seen.below, "/", new_cgroup_name());
  for (const CgroupMount& mount : all) {
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
  if (std::string parent = v2_cgroup_parent(); !parent.empty()) {
    found.version_ = CgroupVersion::v2;
    found.pids_ = found.memory_ = found.cpu_ = parent;
  } else {
    for (const auto& [controller, folder] :
         {std::pair("pids", &found.pids_), {"memory", &found.memory_}, {"cpu", &found.cpu_}}) {
      if (std::string own = own_cgroup(controller); may_make_cgroup_below(own)) *folder = std::move(own);
    }
    if (!found.memory_.empty() || !found.pids_.empty()) found.version_ = CgroupVersion::v1;
  }
  for (const std::string& folder : {found.pids_, found.memory_, found.cpu_}) {
    if (!folder.empty()) sweep(folder);
  }
  if (found.version_ == CgroupVersion::v1) {
    const SeenCgroup seen = seen_from_root(found.memory_.empty() ? found.pids_ : found.memory_);
    for (const CgroupMount& mount : cgroup_mounts()) {
      sweep(mount.place + seen.below);
      if (mount.is_v2) sweep(own_cgroup(""));
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
  const std::string name = new_cgroup_name();
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
  const std::string folder = concat(memory_, "/", new_cgroup_name());
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
