#include "run/slot/launch.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
  const Setup& setup;
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

void set_limits(const Setup& setup) {
  // Where the helper shares the item's memory limit, the kernel must not choose the helper.
  if (setup.memory_limit != 0) {
    const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) static_cast<void>(::write(file, "1000", 4) == 4);
    if (file >= 0) ::close(file);
  }
  if (setup.nice != 0) {
    errno = 0;
    const int now = ::getpriority(PRIO_PROCESS, 0);
    if (errno == 0) ::setpriority(PRIO_PROCESS, 0, now + setup.nice);
  }
  if (setup.address_space != 0) {
    const rlimit limit{setup.address_space, setup.address_space};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  if (setup.has_processors) ::sched_setaffinity(0, sizeof(setup.processors), &setup.processors);
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
  set_limits(birth.setup);
  TaskPlan& plan = birth.plan;
  birth.error = is_path(plan.program) ? execute_file(plan, plan.program) : execute_from_search_path(plan);
  ::_exit(kCouldNotStart);
}

/// Like vfork, but the new process is born into a cgroup. The library has no call for it, and no call could return
/// twice on one stack: so the instruction stands here. What the new process does from here on lies below this frame.
[[gnu::noinline]] pid_t clone_into_cgroup(int cgroup, Birth& birth) {
  clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(cgroup);
#if defined(__x86_64__)
  long result = SYS_clone3;
  asm volatile("syscall" : "+a"(result) : "D"(&arguments), "S"(sizeof(arguments)) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_clone3;
  register long result asm("x0") = reinterpret_cast<long>(&arguments);
  register long size asm("x1") = sizeof(arguments);
  asm volatile("svc 0" : "+r"(result) : "r"(number), "r"(size) : "memory");
#else
#error "clone3 is written for x86_64 and aarch64"
#endif
  if (result == 0) be_born(&birth);
  if (result < 0) errno = static_cast<int>(-result);
  return result < 0 ? -1 : static_cast<pid_t>(result);
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

Launched launch(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end) {
  // A stack of its own, so that the new process cannot disturb the frames that we return through.
  alignas(16) static char stack[std::size_t{32} << 10];
  static const pid_t helper = ::getpid();
  Birth birth{plan, setup, stdout_end, stderr_end, helper};
  const int cgroup = setup.cgroup.birth_descriptor();
  const pid_t pid = cgroup >= 0 ? clone_into_cgroup(cgroup, birth)
                                : ::clone(be_born, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (pid < 0) return {-1, explain(plan.program, errno)};
  if (birth.error == 0) return {pid, {}};
  ::waitpid(pid, nullptr, 0);
  return {-1, explain(plan.program, birth.error)};
}

}  // namespace drover::slot
