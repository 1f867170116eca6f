#include "run/slot/birth.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>

namespace drover::slot {

/// The library has no call for it, and no call could return twice on one stack: so the instruction stands here. What
/// the new process does from here on lies below this frame.
[[gnu::noinline]] pid_t be_born_into(int cgroup, std::uint64_t flags, int (*be)(void*), void* argument) {
  clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP | flags;
  arguments.exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD;  // with the flag it is as the parent's
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
  if (result == 0) be(argument);
  if (result < 0) errno = static_cast<int>(-result);
  return result < 0 ? -1 : static_cast<pid_t>(result);
}

}  // namespace drover::slot
