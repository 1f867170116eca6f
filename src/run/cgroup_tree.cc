#include "run/cgroup_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "run/descriptor.h"

namespace drover {
namespace {

constexpr useconds_t kLongestWaitUs = 500'000;  // about two seconds and a half in all

void kill_all_in(const std::string& folder) {
  for (const pid_t pid : processes_in(folder + "/cgroup.procs")) {
    if (pid != ::getpid()) ::kill(pid, SIGKILL);
  }
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

void remove_cgroup_tree(const std::string& folder) {
  // What was killed takes its time to be gone, on a machine with much to do more of it.
  for (useconds_t wait_us = 1'000; wait_us <= kLongestWaitUs; wait_us += wait_us / 4) {
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return;
    for (const std::string& below : subfolders_of(folder)) remove_cgroup_tree(below);
    kill_all_in(folder);
    if (::rmdir(folder.c_str()) == 0) return;
    ::usleep(wait_us);
  }
}

}  // namespace drover
