#include "run/slot/launch.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace drover::slot {
namespace {

constexpr const char* kDefaultSearchPath = "/bin:/usr/bin";  // what execvp takes when there is no PATH
constexpr int kCouldNotStart = 127;

/// What the new process needs to know, and where it leaves its error: it runs in our memory until it is the program.
struct Birth {
  TaskPlan& plan;
  int stdout_end;
  int stderr_end;
  pid_t helper;
  int error = 0;
};

bool is_path(const char* program) {
  return std::strchr(program, '/') != nullptr;
}

/// Returns only if the file could not be executed: with why.
int execute_file(TaskPlan& plan, const char* file) {
  const auto environment = const_cast<char* const*>(plan.environment.data());
  ::execve(file, const_cast<char* const*>(plan.arguments.data() + 1), environment);
  if (errno != ENOEXEC) return errno;
  plan.arguments[0] = "/bin/sh";
  plan.arguments[1] = file;
  ::execve(plan.arguments[0], const_cast<char* const*>(plan.arguments.data()), environment);
  return errno;
}

/// As execvp does it: an error that may be about one folder only does not end the search.
int execute_from_search_path(TaskPlan& plan) {
  const std::size_t name_size = std::strlen(plan.program);
  if (name_size == 0 || name_size > NAME_MAX) return name_size == 0 ? ENOENT : ENAMETOOLONG;
  char file[PATH_MAX + 1 + NAME_MAX + 1];
  bool was_denied = false;
  const char* folder = plan.search_path != nullptr ? plan.search_path : kDefaultSearchPath;
  for (;;) {
    const char* folder_end = strchrnul(folder, ':');
    const auto folder_size = static_cast<std::size_t>(folder_end - folder);
    if (folder_size < PATH_MAX) {
      char* at = static_cast<char*>(mempcpy(file, folder, folder_size));
      if (folder_size > 0) *at++ = '/';
      std::memcpy(at, plan.program, name_size + 1);
      const int error = execute_file(plan, file);
      was_denied = was_denied || error == EACCES;
      const bool look_on = error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE ||
                           error == ENODEV || error == ETIMEDOUT;
      if (!look_on) return error;
    }
    if (*folder_end == '\0') return was_denied ? EACCES : ENOENT;
    folder = folder_end + 1;
  }
}

/// The new process, from its first instruction. Every call here has to be safe in memory it shares with us.
int be_born(void* argument) {
  Birth& birth = *static_cast<Birth*>(argument);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != birth.helper) ::_exit(kCouldNotStart);  // died before we could ask to die with it
  ::dup2(birth.stdout_end, STDOUT_FILENO);
  ::dup2(birth.stderr_end, STDERR_FILENO);
  // All dispositions are the default already, or handlers, which exec sets back; only the mask passes on.
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  TaskPlan& plan = birth.plan;
  birth.error = is_path(plan.program) ? execute_file(plan, plan.program) : execute_from_search_path(plan);
  ::_exit(kCouldNotStart);
}

std::string explain(const char* program, int error) {
  std::string why = std::string("could not start ") + program + ": ";
  if (error != ENOENT) return why + strerrordesc_np(error);
  if (!is_path(program)) return why + "not found in PATH";
  why += strerrordesc_np(error);
  if (::access(program, F_OK) == 0) why += " (the file is there, but not the interpreter it asks for)";
  return why;
}

}  // namespace

Launched launch(TaskPlan& plan, int stdout_end, int stderr_end) {
  // A stack of its own, so that the new process cannot disturb the frames that we return through.
  alignas(16) static char stack[std::size_t{32} << 10];
  static const pid_t helper = ::getpid();
  Birth birth{plan, stdout_end, stderr_end, helper};
  const pid_t pid = ::clone(be_born, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (pid < 0) return {-1, explain(plan.program, errno)};
  if (birth.error == 0) return {pid, {}};
  ::waitpid(pid, nullptr, 0);
  return {-1, explain(plan.program, birth.error)};
}

}  // namespace drover::slot
