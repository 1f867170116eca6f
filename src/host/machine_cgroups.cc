#include "host/machine_cgroups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/text.h"
#include "host/cgroup_tree.h"
#include "host/system_files.h"

namespace drover {
namespace {

constexpr std::string_view kMachinePrefix = "drover.machine.";
constexpr std::uint64_t kCpuPeriodUs = 100'000;
constexpr std::uint64_t kLeastQuotaUs = 1'000;  // the kernel takes no less
// With version 2 the worker is not in its machine's cgroup itself: one with processes hands no controllers on.
constexpr const char* kWorkerLeaf = "/worker";
constexpr const char* kServerLeaf = "/drover-server";
// An empty cgroup of this age has no owner: a new one gets its process at once.
constexpr std::time_t kForgottenS = 60;
constexpr const char* kWhatToDo =
    "run the server as root, or in a cgroup that its user may change (with systemd: Delegate=yes)";

void add_once(std::vector<std::string>& to, std::string folder) {
  if (std::ranges::find(to, folder) == to.end()) to.push_back(std::move(folder));
}

Result<void> make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return std::unexpected(errno_error(errno, concat("cannot create ", folder), kWhatToDo));
}

Result<void> set(const std::string& file, const std::string& text) {
  if (write_system_file(file, text)) return {};
  return std::unexpected(errno_error(errno, concat("cannot write '", text, "' to ", file)));
}

std::string quota_of(const MachineSize& size) {
  return std::to_string(std::max(size.milli_cpus * kCpuPeriodUs / 1000, kLeastQuotaUs));
}

/// Those below it first.
void remove_empty(const std::string& folder) {
  for (const std::string& below : subfolders_of(folder)) remove_empty(below);
  ::rmdir(folder.c_str());
}

/// What machines left whose server never came back: no process is killed for that.
void sweep(const std::string& parent) {
  for (const std::string& folder : subfolders_of(parent)) {
    if (!std::string_view(folder).substr(parent.size() + 1).starts_with(kMachinePrefix)) continue;
    struct stat info{};
    if (::stat(folder.c_str(), &info) != 0 || std::time(nullptr) - info.st_mtime < kForgottenS) continue;
    if (!has_processes(folder)) remove_empty(folder);
  }
}

/// A cgroup of version 2 that holds nobody but this process can hand its controllers on when the process is in one
/// below it. That is what a service with Delegate=yes starts in.
void step_aside(const std::string& process) {
  const std::string own = own_cgroup("", process);
  if (own.ends_with(kServerLeaf) || !may_make_cgroup_below(own)) return;
  const std::string offered = read_system_file(own + "/cgroup.controllers");
  if (!offered.contains("memory") || hand_controllers_on(own)) return;
  if (processes_in(own + "/cgroup.procs") != std::vector<pid_t>{::getpid()}) return;
  const std::string leaf = own + kServerLeaf;
  if (!make_folder(leaf) || !write_system_file(leaf + "/cgroup.procs", "0")) return;
  if (hand_controllers_on(own)) return;
  write_system_file(own + "/cgroup.procs", "0");
  ::rmdir(leaf.c_str());
}

}  // namespace

std::string machine_cgroup_name(const std::string& name) {
  return concat(kMachinePrefix, name);
}

Result<MachineCgroups> MachineCgroups::find(const std::string& process) {
  step_aside(process);
  const std::string parent = v2_cgroup_parent(process);
  if (parent.empty()) return find_v1(process);
  sweep(parent);
  MachineCgroups found;
  found.is_v2_ = true;
  found.hierarchies_.push_back({"", parent});
  found.parents_.push_back(parent);
  return found;
}

Result<MachineCgroups> MachineCgroups::find_v1(const std::string& process) {
  MachineCgroups found;
  const std::vector<CgroupMount> mounts = cgroup_mounts(process);
  for (const char* controller : {"memory", "cpu", "pids"}) {
    const std::string own = own_cgroup(controller, process);
    if (may_make_cgroup_below(own)) {
      found.hierarchies_.push_back({controller, own});
      add_once(found.parents_, own);
      continue;
    }
    if (controller == std::string_view("pids")) continue;  // nothing is limited there
    if (!own.empty()) {
      return std::unexpected(errno_error(errno, concat("cannot create a cgroup in ", own), kWhatToDo));
    }
    const bool has_v2 = std::ranges::any_of(mounts, &CgroupMount::is_v2);
    if (has_v2) {
      return fail(ErrorCode::denied, "none can be created that has the controllers memory, cpu and pids", kWhatToDo);
    }
    return fail(ErrorCode::not_found, concat("no hierarchy with the controller '", controller, "' is mounted"),
                "mount cgroups at /sys/fs/cgroup");
  }
  // Runtimes put a container at the same place in every hierarchy, where the worker's memory is counted.
  const SeenCgroup seen = seen_from_root(found.hierarchies_.front().parent, process);
  for (const CgroupMount& mount : mounts) add_once(found.parents_, mount.place + seen.below);
  for (const std::string& parent : found.parents_) sweep(parent);
  return found;
}

MachineCgroup MachineCgroups::place(const std::string& name) const {
  MachineCgroup cgroup;
  const std::string below = "/" + machine_cgroup_name(name);
  for (const Hierarchy& it : hierarchies_) add_once(cgroup.join, concat(it.parent, below, is_v2_ ? kWorkerLeaf : ""));
  for (const std::string& parent : parents_) cgroup.folders.push_back(parent + below);
  return cgroup;
}

Result<void> MachineCgroups::make(const MachineCgroup& cgroup, const MachineSize& size) const {
  auto made = fill(cgroup, size);
  if (!made) remove_cgroup_trees(cgroup.folders);
  return made;
}

Result<void> MachineCgroups::fill(const MachineCgroup& cgroup, const MachineSize& size) const {
  const std::string most_memory = std::to_string(size.memory_bytes + kWorkerMemoryBytes);
  if (is_v2_) {
    const std::string& folder = cgroup.folders.front();
    if (auto made = make_folder(folder); !made) return made;
    if (auto done = set(folder + "/cpu.max", concat(quota_of(size), " ", kCpuPeriodUs)); !done) return done;
    if (size.memory_bytes > 0) {
      if (auto done = set(folder + "/memory.max", most_memory); !done) return done;
      write_system_file(folder + "/memory.swap.max", "0");  // where swap is counted
    }
    if (!hand_controllers_on(folder)) {
      return std::unexpected(errno_error(errno, concat("cannot hand on the controllers of ", folder)));
    }
    return make_folder(cgroup.join.front());
  }
  // Controllers that are mounted together share a folder.
  const std::string last = cgroup.folders.front().substr(hierarchies_.front().parent.size());
  for (const auto& [controller, parent] : hierarchies_) {
    const std::string folder = parent + last;
    if (auto made = make_folder(folder); !made) return made;
    if (controller == "cpu") {
      if (auto done = set(folder + "/cpu.cfs_period_us", std::to_string(kCpuPeriodUs)); !done) return done;
      if (auto done = set(folder + "/cpu.cfs_quota_us", quota_of(size)); !done) return done;
    }
    if (controller == "memory" && size.memory_bytes > 0) {
      write_system_file(folder + "/memory.use_hierarchy", "1");  // older kernels ask for it
      if (auto done = set(folder + "/memory.limit_in_bytes", most_memory); !done) return done;
      write_system_file(folder + "/memory.memsw.limit_in_bytes", most_memory);  // with swap, where swap is counted
    }
  }
  return {};
}

}  // namespace drover
