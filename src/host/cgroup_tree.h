// Removing cgroups. Compiled into drover and into the slot's helper.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace drover {

/// With the whole path.
std::vector<std::string> subfolders_of(const std::string& folder);

/// The processes that a cgroup.procs names, however many.
std::vector<pid_t> processes_in(const std::string& file);

/// Whether something runs in a cgroup or in those below it.
bool has_processes(const std::string& folder);

/// Kills what is in a cgroup and in those below it, which items may have made, and removes them. Gives up on what does
/// not die in two seconds. False: that is why it is still there.
bool remove_cgroup_tree(const std::string& folder);
/// All of them, in as long as one may take.
bool remove_cgroup_trees(const std::vector<std::string>& folders);

}  // namespace drover
