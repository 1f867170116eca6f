#include "run/descendants.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "ports/descriptor.h"
#include "run/proc_numbers.h"

namespace drover {
namespace {

std::string read_whole(const std::string& path) {
  std::string text;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return text;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(file.get(), part, sizeof(part))) > 0) text.append(part, static_cast<std::size_t>(got));
  return text;
}

void add_numbers(const std::string& text, std::vector<pid_t>& out) {
  const char* at = text.c_str();
  char* end = nullptr;
  for (long number = std::strtol(at, &end, 10); end != at; number = std::strtol(at, &end, 10)) {
    out.push_back(static_cast<pid_t>(number));
    at = end;
  }
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_whole("/proc/" + std::to_string(pid) + "/stat");
  // The name in the second field may hold anything, a parenthesis too; what follows the last one is state and parent.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return 0;
  return static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10));
}

bool kernel_lists_children() {
  static const bool listed = ::access("/proc/thread-self/children", F_OK) == 0;
  return listed;
}

}  // namespace

void become_subreaper() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
}

std::vector<pid_t> children_of(pid_t pid) {
  if (!kernel_lists_children()) return children_by_scan(pid);
  std::vector<pid_t> children;
  const std::string threads = "/proc/" + std::to_string(pid) + "/task";
  for (const pid_t thread : numbers_in(threads.c_str())) {
    add_numbers(read_whole(threads + "/" + std::to_string(thread) + "/children"), children);
  }
  return children;
}

std::vector<pid_t> children_by_scan(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t candidate : numbers_in("/proc")) {
    if (parent_of(candidate) == pid) children.push_back(candidate);
  }
  return children;
}

KillResult kill_tree(pid_t child) {
  const pid_t own_group = ::getpgrp();
  KillResult result = KillResult::sent;
  std::vector<pid_t> pending{child};
  while (!pending.empty()) {
    const pid_t pid = pending.back();
    pending.pop_back();
    // A whole group dies at one instant, so a fork bomb has no time to refill it. Our own group is spared: whatever
    // shares our session can join it.
    const pid_t group = ::getpgid(pid);
    if (group > 1 && group != own_group) ::kill(-group, SIGKILL);
    // The number of a grandchild could have passed to a stranger since it was listed only if its parent waited for it
    // after being killed itself and the kernel went through all its numbers meanwhile.
    if (::kill(pid, SIGKILL) != 0 && errno == EPERM && pid == child) result = KillResult::refused;
    for (const pid_t below : children_of(pid)) pending.push_back(below);
  }
  return result;
}

}  // namespace drover
