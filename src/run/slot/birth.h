// Being born into our memory: a process that shares it until it becomes its program, so that its cost does not grow
// with anything.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace drover::slot {

/// Like vfork, but the new process is born into a cgroup (its folder's descriptor), and with these flags of clone
/// beside those of vfork. `be` never returns. The process, or -1 with errno.
pid_t be_born_into(int cgroup, std::uint64_t flags, int (*be)(void*), void* argument);

}  // namespace drover::slot
