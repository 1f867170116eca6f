#include "host/cgroup_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "ports/descriptor.h"

namespace drover {
namespace {

constexpr std::chrono::milliseconds kPatience{2'000};
constexpr useconds_t kLongestWaitUs = 50'000;

/// With version 2 at once, so that nothing is born meanwhile.
bool is_killed_whole(const std::string& folder) {
  const Descriptor file(::open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), "1", 1) == 1;
}

void kill_all_in(const std::string& folder) {
  const std::vector<pid_t> all = processes_in(folder + "/cgroup.procs");
  if (all.empty()) return;
  if (std::ranges::find(all, ::getpid()) == all.end() && is_killed_whole(folder)) return;
  for (const pid_t pid : all) {
    if (pid != ::getpid()) ::kill(pid, SIGKILL);
  }
}

/// Or cannot be by waiting.
bool is_removed(const std::string& folder) {
  if (::rmdir(folder.c_str()) == 0 || (errno != EBUSY && errno != ENOTEMPTY)) return true;
  for (const std::string& below : subfolders_of(folder)) is_removed(below);
  kill_all_in(folder);
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

std::vector<std::string> subfolders_of(const std::string& folder) {
  std::vector<std::string> found;
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return found;
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') found.push_back(folder + "/" + entry->d_name);
  }
  ::closedir(entries);
  return found;
}

std::vector<pid_t> processes_in(const std::string& file) {
  std::vector<pid_t> found;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  char part[4096];
  pid_t number = 0;
  // A number may be cut in two where one part ends; half of it is somebody else's.
  for (ssize_t got = 0; opened && (got = ::read(opened.get(), part, sizeof(part))) > 0;) {
    for (ssize_t at = 0; at < got; ++at) {
      if (part[at] >= '0' && part[at] <= '9') {
        number = number * 10 + (part[at] - '0');
      } else if (number > 0) {  // 0: in a namespace that we do not see
        found.push_back(std::exchange(number, 0));
      }
    }
  }
  return found;
}

bool remove_cgroup_trees(const std::vector<std::string>& folders) {
  // What was killed takes its time to be gone, on a machine with much to do more of it.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::vector<std::string> left = folders;
  for (useconds_t wait_us = 1'000;; wait_us = std::min(wait_us * 2, kLongestWaitUs)) {
    std::erase_if(left, [](const std::string& folder) { return is_removed(folder); });
    if (left.empty() || std::chrono::steady_clock::now() >= deadline) return left.empty();
    ::usleep(wait_us);
  }
}

bool remove_cgroup_tree(const std::string& folder) {
  return remove_cgroup_trees({folder});
}

bool has_processes(const std::string& folder) {
  return !processes_in(folder + "/cgroup.procs").empty() || std::ranges::any_of(subfolders_of(folder), has_processes);
}

}  // namespace drover
