// Finding and killing what descends from this process, however it tried to get away: by a process group or session of
// its own, by orphaning itself, by forking faster than one looks. It rests on two things. Orphans come back to the
// nearest subreaper above them, so nothing leaves the tree. And a process that has been sent SIGKILL makes no more
// children, so killing before listing converges. Compiled into drover and into the slot's helper.
#pragma once

#include <sys/types.h>

#include <vector>

namespace drover {

/// From now on orphans below this process become its children, not init's.
void become_subreaper();

/// The children of `pid`, those of all its threads, dead ones that nobody has waited for included.
std::vector<pid_t> children_of(pid_t pid);

/// The same, slower, by looking at every process there is: for kernels that keep no list.
std::vector<pid_t> children_by_scan(pid_t pid);

enum class KillResult {
  sent,
  refused,  // the child runs as somebody else
};

/// One pass of SIGKILL over a child of this process, its process group and everything below. Something may have
/// been born meanwhile: wait for the child, look for children again, and repeat while there are any.
KillResult kill_tree(pid_t child);

}  // namespace drover
