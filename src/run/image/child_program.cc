#include "run/image/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <tuple>

#include "ports/descriptor.h"

namespace drover {
namespace {

constexpr int kTickMs = 100;
constexpr std::size_t kMostText = std::size_t{16} << 20;  // the longest manifest that registries take is 4 MiB

/// Everything that the child needs, made before it exists: between vfork and exec it may not even allocate.
struct Launch {
  std::vector<char*> words;
  std::vector<char*> environment;
  const char* folder = nullptr;
  int null = -1;
  int out = -1;
  int err = -1;
  int trouble = -1;  // takes the errno of what could not begin
  pid_t parent = 0;
};

[[noreturn]] void become(const Launch& launch) {
  ::setpgid(0, 0);
  // posix_spawn cannot say this, and skopeo on a registry that hangs would outlive us for good.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaction(number, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(launch.null, 0) >= 0 && ::dup2(launch.out, 1) >= 0 && ::dup2(launch.err, 2) >= 0 &&
      (launch.folder == nullptr || ::chdir(launch.folder) == 0)) {
    ::execvpe(launch.words[0], launch.words.data(), launch.environment.data());
  }
  const int error = errno;
  const ssize_t said = ::write(launch.trouble, &error, sizeof error);
  ::_exit(said == sizeof error ? 127 : 126);
}

/// vfork copies none of our memory. Signals wait meanwhile: their handlers would run in the child, on our stack.
[[gnu::noinline]] pid_t start(const Launch& launch) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();  // NOLINT(bugprone-unsafe-functions): posix_spawn cannot ask for the parent's death
  if (pid == 0) become(launch);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> out = more;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view word = *one;
    const std::string_view name = word.substr(0, std::min(word.find('='), word.size() - 1) + 1);
    bool given = false;
    for (const std::string& other : more) given = given || other.starts_with(name);
    if (!given) out.emplace_back(word);
  }
  return out;
}

/// One of its two streams. False: it has ended.
bool read_some(const Descriptor& from, std::string& into) {
  std::array<char, 65536> piece;
  const ssize_t got = ::read(from.get(), piece.data(), piece.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  into.append(piece.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Pipe {
  Descriptor read;
  Descriptor write;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

/// Until it has ended; the reason, if it was we who ended it.
ChildEnd::How wait_for(const Descriptor& process, Pipe& out, Pipe& err, const ChildWatch& watch, ChildEnd& end) {
  std::int64_t moved_ms = now_ms();
  std::uint64_t headway = watch.headway ? watch.headway() : 0;
  while (true) {
    std::array<pollfd, 3> waits = {
        {{process.get(), POLLIN, 0}, {out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), kTickMs);
    bool moved = false;
    for (const auto& [index, pipe, text] : {std::tuple{1, &out, &end.out}, std::tuple{2, &err, &end.err}}) {
      if (waits[static_cast<std::size_t>(index)].revents == 0) continue;
      moved = true;
      if (!read_some(pipe->read, *text) || text->size() > kMostText) pipe->read.reset();
    }
    if (waits[0].revents != 0 && !moved) return ChildEnd::How::exited;
    if (watch.headway) {
      const std::uint64_t is = watch.headway();
      moved = moved || is != headway;
      headway = is;
      if (is > watch.most) return ChildEnd::How::overran;
    }
    if (moved) moved_ms = now_ms();
    if (watch.stop.stop_requested()) return ChildEnd::How::cancelled;
    if (now_ms() - moved_ms > watch.stall_ms) return ChildEnd::How::stalled;
  }
}

}  // namespace

ChildEnd run_child(const ChildProgram& program, const ChildWatch& watch) {
  ChildEnd end;
  std::vector<std::string> words = program.words;
  std::vector<std::string> environment = environment_with(program.environment);
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe out;
  Pipe err;
  Pipe trouble;
  if (!null || !out.read || !err.read || !trouble.read) {
    end.number = errno;
    return end;
  }
  const Launch launch{.words = pointers(words),
                      .environment = pointers(environment),
                      .folder = program.folder.empty() ? nullptr : program.folder.c_str(),
                      .null = null.get(),
                      .out = out.write.get(),
                      .err = err.write.get(),
                      .trouble = trouble.write.get(),
                      .parent = ::getpid()};
  const pid_t pid = start(launch);
  int status = 0;
  int error = pid < 0 ? errno : 0;
  out.write.reset();
  err.write.reset();
  trouble.write.reset();  // the program has closed its own when it begins
  std::string said;
  while (pid > 0 && read_some(trouble.read, said)) {
  }
  if (said.size() == sizeof error) std::memcpy(&error, said.data(), sizeof error);
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, &status, 0);
    end.number = error;
    return end;
  }
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  end.how = wait_for(process, out, err, watch, end);
  // Also when it has ended by itself: what it started goes with it.
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (end.how != ChildEnd::How::exited) return end;
  if (WIFSIGNALED(status)) {
    end.how = ChildEnd::How::signalled;
    end.number = WTERMSIG(status);
  } else {
    end.number = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace drover
