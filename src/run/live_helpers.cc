#include "run/live_helpers.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "run/descendants.h"

namespace drover {
namespace {

// What cannot be killed for so long hangs in the kernel, or is not ours to kill.
constexpr std::chrono::seconds kOrphanPatience{5};

}  // namespace

LiveHelpers& LiveHelpers::of_this_process() {
  static LiveHelpers helpers;
  return helpers;
}

pid_t LiveHelpers::add(const std::function<pid_t()>& spawn) {
  const std::lock_guard lock(mutex_);
  const pid_t pid = spawn();
  if (pid > 0) pids_.insert(pid);
  return pid;
}

int LiveHelpers::bury(pid_t helper) {
  const std::lock_guard lock(mutex_);
  ::kill(helper, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  do waited = ::waitpid(helper, &status, 0);
  while (waited < 0 && errno == EINTR);
  pids_.erase(helper);
  const bool ended_in_order = waited == helper && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!ended_in_order) kill_orphans();
  return status;
}

void LiveHelpers::kill_orphans() {
  const auto deadline = std::chrono::steady_clock::now() + kOrphanPatience;
  const pid_t own_session = ::getsid(0);
  while (std::chrono::steady_clock::now() < deadline) {
    std::vector<pid_t> orphans;
    for (const pid_t child : children_of(::getpid())) {
      const pid_t session = ::getsid(child);
      if (session >= 0 && session != own_session && !pids_.contains(child)) orphans.push_back(child);
    }
    if (orphans.empty()) return;
    bool some_ended = false;
    for (const pid_t orphan : orphans) {
      // The dead first, and quickly: passes have to be faster than what forks.
      if (::waitpid(orphan, nullptr, WNOHANG) > 0) {
        some_ended = true;
      } else {
        kill_tree(orphan);
      }
    }
    if (!some_ended) ::poll(nullptr, 0, 1);
  }
}

}  // namespace drover
