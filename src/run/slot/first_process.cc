#include "run/slot/first_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "run/slot/execute.h"
#include "run/slot/launch.h"
#include "run/slot/rusage.h"
#include "run/slot/setup.h"
#include "run/slot/terminal.h"

namespace drover::slot {
namespace {

std::vector<char> read_all(int file) {
  struct stat info{};
  std::vector<char> bytes;
  if (::fstat(file, &info) != 0) return bytes;
  bytes.resize(static_cast<std::size_t>(info.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

struct Order {
  OrderKind kind = OrderKind::wait;
  std::uint64_t address_space = 0;
  std::uint64_t processes = 0;
  bool has_processors = false;
  cpu_set_t processors{};
  TaskPlan plan;

  /// Becomes the program, held to what it may have. Returns an errno if it cannot.
  int follow() {
    // A runtime may have set it back.
    if (has_processors) ::sched_setaffinity(0, sizeof(processors), &processors);
    set_resource_limits(address_space, processes);
    return execute(plan);
  }
};

/// Pointers into `bytes`.
Order read_order(const std::vector<char>& bytes) {
  Order order;
  if (bytes.size() < sizeof(FrameSize)) return order;
  FrameReader reader(std::span<const char>(bytes).subspan(sizeof(FrameSize)));
  order.kind = reader.get<OrderKind>();
  order.address_space = reader.get<std::uint64_t>();
  order.processes = reader.get<std::uint64_t>();
  order.has_processors = reader.get<bool>();
  order.processors = reader.get<cpu_set_t>();
  order.plan.wants_terminal = reader.get<bool>();
  order.plan.program = reader.text().data();
  order.plan.arguments.assign(1, nullptr);
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    order.plan.arguments.push_back(reader.text().data());
  }
  order.plan.arguments.push_back(nullptr);
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    order.plan.environment.push_back(reader.text().data());
  }
  order.plan.find_search_path();
  order.plan.environment.push_back(nullptr);
  return order;
}

void say(const LastWords& words, const std::string& reason) {
  std::string bytes(reinterpret_cast<const char*>(&words), sizeof(words));
  bytes += reason;
  // A pipe takes this at once, and whole.
  static_cast<void>(::write(kLastWordsDescriptor, bytes.data(), bytes.size()) > 0);
}

struct Birth {
  Order& order;
  int error = 0;
  bool has_terminal = true;  // or needs none
};

std::string problem_of(const Birth& birth) {
  return birth.has_terminal ? explain(birth.order.plan.program, birth.error, Sight::elsewhere)
                            : explain_no_terminal(birth.error);
}

/// Returns only if it cannot become the item.
void become_item(Birth& birth) {
  if (birth.order.plan.wants_terminal) birth.error = take_terminal();
  birth.has_terminal = birth.error == 0;
  if (birth.has_terminal) birth.error = birth.order.follow();
}

int be_item(void* argument) {
  Birth& birth = *static_cast<Birth*>(argument);
  if (!birth.order.plan.wants_terminal) ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  become_item(birth);
  ::_exit(kCouldNotStart);
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Takes in whoever has ended. True: the item was among them.
bool reap(pid_t item, LastWords& words) {
  bool item_ended = false;
  int status = 0;
  rusage used;
  for (pid_t pid = 0; (pid = ::wait4(-1, &status, WNOHANG, &used)) > 0;) {
    add_usage(words.usage, used);
    if (pid != item) continue;
    words.status = status;
    item_ended = true;
  }
  return item_ended;
}

/// What is left dies with us, but what it used would not be counted.
void reap_the_rest(LastWords& words) {
  if (::getpid() != 1) return;  // "all" is then not only ours
  ::kill(-1, SIGKILL);
  int status = 0;
  rusage used;
  while (::wait4(-1, &status, 0, &used) > 0) add_usage(words.usage, used);
}

int run_as_child(Order& order) {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  alignas(16) static char stack[std::size_t{32} << 10];
  Birth birth{order};
  LastWords words;
  const pid_t item = ::clone(be_item, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (item < 0) birth.error = errno;
  if (birth.error != 0) {
    say(words, problem_of(birth));
    return kCouldNotStart;
  }
  words.is_started = true;
  while (!reap(item, words)) {
    siginfo_t info;
    const int signal = ::sigwaitinfo(&all, &info);
    if (signal <= 0 || signal == SIGCHLD) continue;
    if (::kill(-item, signal) != 0) ::kill(item, signal);
  }
  reap_the_rest(words);
  say(words, {});
  return exit_code_of(words.status);
}

int become(Order& order) {
  ::fcntl(kLastWordsDescriptor, F_SETFD, FD_CLOEXEC);
  Birth birth{order};
  become_item(birth);
  say({}, problem_of(birth));
  return kCouldNotStart;
}

int wait_for_ever() {
  ::close(kLastWordsDescriptor);
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ended, nullptr);
  for (;;) {
    siginfo_t info;
    ::sigwaitinfo(&ended, &info);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

}  // namespace

Descriptor write_order(OrderKind kind, const TaskPlan& plan, const Setup& setup) {
  std::string bytes;
  {
    FrameWriter frame(bytes, FrameKind::order);
    frame.put(kind);
    frame.put(setup.address_space);
    frame.put(setup.processes);
    frame.put(setup.has_processors);
    frame.put(setup.processors);
    frame.put(plan.wants_terminal);
    frame.text(plan.program);
    // Each list as exec wants it: without the free place before, and without the null behind.
    const auto put = [&](const std::vector<const char*>& texts, std::size_t from) {
      const std::size_t count = texts.size() > from ? texts.size() - from - 1 : 0;
      frame.put(static_cast<std::uint64_t>(count));
      for (std::size_t i = 0; i < count; ++i) frame.text(texts[from + i]);
    };
    put(plan.arguments, 1);
    put(plan.environment, 0);
  }
  Descriptor file(::memfd_create("drover-order", MFD_CLOEXEC));
  for (std::size_t done = 0; file && done < bytes.size();) {
    const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) file.reset();
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return file;
}

int be_first_process() {
  ::prctl(PR_SET_NAME, kFirstProcessName);
  // Through a process that can be looked into, an item would reach the root that a warm container begins every item
  // with. What we become or start can be looked into again.
  ::prctl(PR_SET_DUMPABLE, 0);
  const std::vector<char> bytes = read_all(kOrderDescriptor);
  ::close(kOrderDescriptor);
  ::fcntl(kLastWordsDescriptor, F_SETFD, FD_CLOEXEC);
  Order order = read_order(bytes);
  switch (order.kind) {
    case OrderKind::run: return run_as_child(order);
    case OrderKind::become: return become(order);
    case OrderKind::wait: return wait_for_ever();
  }
  return kCouldNotStart;
}

}  // namespace drover::slot
