// Where the cgroups of this machine are, of either version, and where this process may make more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drover {

/// A hierarchy: where it is mounted, and which part of it is seen there.
struct CgroupMount {
  std::string root;
  std::string place;
  bool is_v2 = false;
  std::vector<std::string> options;  // with version 1 its controllers are among them

  bool has(std::string_view controller) const;
};

/// The folder that describes a process's mounts and cgroups. Tests have others.
inline constexpr const char* kThisProcess = "/proc/self";

std::vector<CgroupMount> cgroup_mounts(const std::string& process = kThisProcess);

/// The folder of the process's own cgroup for a controller ("" for version 2's), if it can be seen.
std::string own_cgroup(const std::string& controller, const std::string& process = kThisProcess);

/// Creates one below the folder and removes it again. False: errno says why.
bool may_make_cgroup_below(const std::string& folder);

/// The nearest folder at or above ours below which memory, cpu and pids can be limited: a cgroup of version 2 that has
/// processes of its own hands no controllers on. Empty: there is none.
std::string v2_cgroup_parent(const std::string& process = kThisProcess);

/// Hands the controllers of a version 2 cgroup on to those below it.
bool hand_controllers_on(const std::string& folder);

/// The folder as its hierarchy's own root sees it.
struct SeenCgroup {
  std::string place;
  std::string below;
};
SeenCgroup seen_from_root(const std::string& folder, const std::string& process = kThisProcess);

/// "drover-PID-STARTTIME-N-nsNAMESPACE": a name that nobody has had yet. The next process of ours knows by it whether
/// the owner lives.
std::string new_cgroup_name();
/// Whether it is such a name, of a process that has ended. Something may stand behind it, after ".r".
bool is_cgroup_of_the_dead(const std::string& name);

}  // namespace drover
