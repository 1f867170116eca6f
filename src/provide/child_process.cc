#include "provide/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "base/utf8.h"
#include "ports/descriptor.h"

namespace drover {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// What the child tells of itself, if something is wrong.
struct Troubles {
  int join_error = 0;
  int error = 0;  // it has not begun
};

/// All that the child needs, made ready before it is there.
struct Birth {
  const ChildStart& start;
  std::vector<char*> words;
  std::vector<char*> environment;
  std::vector<Descriptor> join;
  int tell = -1;
  Troubles troubles;
};

/// The new process, from its first instruction. It shares our memory, so every call has to be safe after a fork.
[[noreturn, gnu::noinline]] void be_born(Birth& birth) {
  Troubles& troubles = birth.troubles;
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);  // some take none
  // "0" means the process that writes it.
  for (const Descriptor& it : birth.join) {
    if (::write(it.get(), "0", 1) != 1 && troubles.join_error == 0) troubles.join_error = errno;
  }
  if (birth.start.has_session) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
  }
  ::dup2(birth.start.in, STDIN_FILENO);
  ::dup2(birth.start.out, STDOUT_FILENO);
  ::dup2(birth.start.err, STDERR_FILENO);
  if (birth.start.keep >= 0) ::fcntl(birth.start.keep, F_SETFD, 0);
  if (troubles.join_error != 0) (void)!::write(birth.tell, &troubles, sizeof troubles);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(birth.words.front(), birth.words.data(), birth.environment.data());
  troubles.error = errno;
  (void)!::write(birth.tell, &troubles, sizeof troubles);
  ::_exit(127);
}

/// In a frame of its own, which the child does not leave.
[[gnu::noinline]] pid_t give_birth(Birth& birth) {
  const pid_t pid = ::vfork();  // posix_spawn() enters no cgroup, and a fork of a large process takes long
  if (pid == 0) be_born(birth);
  return pid;
}

}  // namespace

std::vector<std::string> child_environment(std::initializer_list<std::string_view> others) {
  constexpr std::array<std::string_view, 6> kNotForIt = {
      "DROVER_SERVER=", "DROVER_KEY=", "DROVER_CA=", "DROVER_JOIN=", "DROVER_DATA=", "NOTIFY_SOCKET="};
  std::vector<std::string> out;
  for (char** it = environ; *it != nullptr; ++it) {
    const std::string_view variable = *it;
    const auto begins_so = [&](std::string_view start) { return variable.starts_with(start); };
    if (std::ranges::none_of(kNotForIt, begins_so) && std::ranges::none_of(others, begins_so)) {
      out.emplace_back(variable);
    }
  }
  return out;
}

Result<StartedChild> start_child(const ChildStart& start) {
  const std::string what = concat("cannot start ", start.words.front());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(errno_error(errno, what));
  const Descriptor hear(ends[0]);
  Descriptor tell(ends[1]);
  Birth birth{start, pointers(start.words), pointers(start.environment), {}, tell.get(), {}};
  int open_error = 0;
  for (const std::string& folder : start.join) {
    Descriptor file(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (file) {
      birth.join.push_back(std::move(file));
    } else {
      open_error = errno;
    }
  }
  // A signal that arrives in between must not find our handlers in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = give_birth(birth);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return std::unexpected(errno_error(error, what));
  tell.reset();
  // Told through a pipe, as under some sanitizers memory is not shared.
  Troubles troubles;
  for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
    got = ::read(hear.get(), &troubles, sizeof troubles);  // the last one says all
  }
  if (troubles.error != 0) {
    ::waitpid(pid, nullptr, 0);
    return std::unexpected(errno_error(troubles.error, what));
  }
  return StartedChild{pid, open_error != 0 ? open_error : troubles.join_error};
}

std::string last_line(std::string_view text) {
  std::string_view last;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (!line.empty()) last = line;
  }
  return utf8(last);
}

}  // namespace drover
