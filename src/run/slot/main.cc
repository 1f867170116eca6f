// drover-slot: the helper program of a slot. drover starts it from memory with a socket as descriptor 3 and something
// to hold open as descriptor 4, in a session of its own.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "run/descendants.h"
#include "run/proc_numbers.h"
#include "run/slot/first_process.h"
#include "run/slot/helper.h"
#include "run/slot_protocol.h"

namespace {

/// Items see descriptors 0, 1 and 2, and nothing that drover, or whoever started it, has open.
void close_what_items_must_not_see() {
  ::fcntl(drover::kSlotSocket, F_SETFD, FD_CLOEXEC);
  for (const int number : {drover::kSlotHold, drover::kSlotDeviceLock}) ::fcntl(number, F_SETFD, FD_CLOEXEC);
  if (::syscall(SYS_close_range, drover::kSlotDeviceLock + 1, ~0U, 0) == 0) return;
  for (const int number : drover::numbers_in("/proc/self/fd")) {
    if (number > drover::kSlotDeviceLock) ::close(number);
  }
}

/// Whatever drover blocks or ignores, items begin as a program expects to. The library's own call refuses the signals
/// that it uses itself, and posix_spawn leaves just those ignored; so this is the kernel's.
void set_signals_to_defaults() {
  const std::array<std::uint64_t, 8> defaults{};  // larger than the kernel's structure anywhere
  for (int signal = 1; signal < _NSIG; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, defaults.data(), nullptr, sizeof(std::uint64_t));
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Writing a copy of an item's output may raise these. They are handled, not ignored: exec sets a handler back, while
/// items would inherit the ignoring.
void survive_failing_writes() {
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &nothing, nullptr);
  ::sigaction(SIGPIPE, &nothing, nullptr);
}

}  // namespace

int main(int, char** arguments) {
  if (std::string_view(arguments[0]).ends_with(drover::slot::kFirstProcessName)) {
    return drover::slot::be_first_process();
  }
  ::prctl(PR_SET_NAME, "drover-slot");
  // Large tasks go back to the system when they are done; left alone, the library learns to keep their memory.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  close_what_items_must_not_see();
  set_signals_to_defaults();
  survive_failing_writes();
  drover::become_subreaper();
  static drover::slot::Helper helper;
  helper.run();
  return 0;
}
