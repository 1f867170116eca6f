#include "run/slot/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "run/slot/birth.h"
#include "run/slot/execute.h"
#include "run/slot/setup.h"
#include "run/slot/terminal.h"

namespace drover::slot {
namespace {

/// What the new process needs to know, and where it leaves its error: it runs in our memory until it is the program.
struct Birth {
  TaskPlan& plan;
  const Setup& setup;
  int stdout_end;
  int stderr_end;
  pid_t helper;
  int error = 0;
  bool has_terminal = true;  // or needs none
};

}  // namespace

void set_priority(const Setup& setup) {
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
  if (setup.has_processors) ::sched_setaffinity(0, sizeof(setup.processors), &setup.processors);
}

void set_resource_limits(std::uint64_t address_space, std::uint64_t processes) {
  const rlimit space{address_space, address_space};
  if (address_space != 0) ::setrlimit(RLIMIT_AS, &space);
  const rlimit number{processes, processes};
  if (processes != 0) ::setrlimit(RLIMIT_NPROC, &number);
}

void set_limits(const Setup& setup) {
  set_priority(setup);
  set_resource_limits(setup.address_space, setup.processes);
}

namespace {

/// The new process, from its first instruction. Every call here has to be safe in memory it shares with us.
int be_born(void* argument) {
  Birth& birth = *static_cast<Birth*>(argument);
  if (!birth.plan.wants_terminal) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != birth.helper) ::_exit(kCouldNotStart);  // died before we could ask to die with it
  ::dup2(birth.stdout_end, STDOUT_FILENO);
  ::dup2(birth.stderr_end, STDERR_FILENO);
  if (birth.plan.wants_terminal) birth.error = take_terminal();
  birth.has_terminal = birth.error == 0;
  if (!birth.has_terminal) ::_exit(kCouldNotStart);
  // All dispositions are the default already, or handlers, which exec sets back; only the mask passes on.
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  set_limits(birth.setup);
  birth.error = execute(birth.plan);
  ::_exit(kCouldNotStart);
}

}  // namespace

Launched launch(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end) {
  // A stack of its own, so that the new process cannot disturb the frames that we return through.
  alignas(16) static char stack[std::size_t{32} << 10];
  static const pid_t helper = ::getpid();
  Birth birth{plan, setup, stdout_end, stderr_end, helper};
  const int cgroup = setup.cgroup.birth_descriptor();
  const pid_t pid = cgroup >= 0 ? be_born_into(cgroup, 0, be_born, &birth)
                                : ::clone(be_born, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (pid < 0) return {-1, explain(plan.program, errno)};
  if (birth.error == 0) return {pid, {}};
  ::waitpid(pid, nullptr, 0);
  return {-1, birth.has_terminal ? explain(plan.program, birth.error) : explain_no_terminal(birth.error)};
}

}  // namespace drover::slot
