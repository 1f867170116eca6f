#include "run/cgroup_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "run/descriptor.h"

namespace drover {
namespace {

void kill_all_in(const std::string& folder) {
  const Descriptor file(::open((folder + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC));
  char text[16 << 10];
  const ssize_t size = file ? ::read(file.get(), text, sizeof(text) - 1) : 0;
  text[size > 0 ? size : 0] = '\0';
  const pid_t us = ::getpid();
  char* at = text;
  for (long pid = std::strtol(at, &at, 10); pid > 0; pid = std::strtol(at, &at, 10)) {
    if (pid != us) ::kill(static_cast<pid_t>(pid), SIGKILL);
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

void remove_cgroup_tree(const std::string& folder) {
  for (int turn = 0; turn < 50; ++turn) {
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return;
    for (const std::string& below : subfolders_of(folder)) remove_cgroup_tree(below);
    kill_all_in(folder);
    if (::rmdir(folder.c_str()) == 0) return;
    ::usleep(2000);
  }
}

}  // namespace drover
