#include "run/slot/container.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host/cgroup_tree.h"
#include "run/remove_tree.h"
#include "run/slot/clock.h"
#include "run/slot/execute.h"
#include "run/slot/setup.h"

namespace drover::slot {
namespace {

// A warm container that nobody needs holds memory.
constexpr std::int64_t kMostIdleMs = 60'000;
constexpr int kReadyMs = 10'000;

constexpr const char* kRoot = "rootfs";        // where the runtime looks for the container's root
constexpr const char* kItemRoot = "itemroot";  // where the root of a warm one's next item is put together
constexpr const char* kPidFile = "state/pid";
constexpr const char* kOverlayMarks = "trusted.overlay.";
constexpr std::size_t kMostSpare = 4;
constexpr const char* kRuntimeLog = "state/runtime.log";

std::string read_small(const char* path) {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[8192];
  const ssize_t size = file ? ::read(file.get(), text, sizeof(text)) : 0;
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string because(std::string what) {
  return std::move(what) + ": " + strerrordesc_np(errno);
}

/// Whether nothing was written into a root: then the next item can have the same.
bool is_untouched(const std::string& upper) {
  struct stat info{};
  if (::lstat(upper.c_str(), &info) != 0 || info.st_uid != 0 || info.st_gid != 0 || (info.st_mode & 07777) != 0755) {
    return false;
  }
  char names[1024];
  const ssize_t size = ::listxattr(upper.c_str(), names, sizeof(names));
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::strlen(names + at)) + 1) {
    if (std::strncmp(names + at, kOverlayMarks, std::strlen(kOverlayMarks)) != 0) return false;
  }
  DIR* entries = size < 0 ? nullptr : ::opendir(upper.c_str());
  if (entries == nullptr) return false;
  bool is_empty = true;
  while (const dirent* entry = ::readdir(entries)) {
    is_empty = is_empty && (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0);
  }
  ::closedir(entries);
  return is_empty;
}

struct RuntimeBirth {
  const char* program;
  const char* const* arguments;
  const Setup& setup;
  int stdout_end;
  int stderr_end;
  int order;
  int last_words;
  pid_t helper;
  int error = 0;
};

int become_runtime(void* argument) {
  RuntimeBirth& birth = *static_cast<RuntimeBirth*>(argument);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != birth.helper) ::_exit(kCouldNotStart);
  ::dup2(birth.stdout_end, STDOUT_FILENO);
  ::dup2(birth.stderr_end, STDERR_FILENO);
  ::dup2(birth.order, kOrderDescriptor);
  ::dup2(birth.last_words, kLastWordsDescriptor);
  set_priority(birth.setup);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  static const char* const environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                            "HOME=/", "USER=drover", nullptr};
  ::execve(birth.program, const_cast<char* const*>(birth.arguments), const_cast<char* const*>(environment));
  birth.error = errno;
  ::_exit(kCouldNotStart);
}

/// The message of a line such as: time="…" level=error msg="…"
std::string message_in(std::string line) {
  const std::size_t at = line.find("msg=\"");
  if (at == std::string::npos) return line;
  std::string message;
  for (std::size_t i = at + 5; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    message.push_back(line[i]);
  }
  return message;
}

}  // namespace

void Container::read(std::span<const char> frame) {
  FrameReader reader(frame);
  const auto text = [&] { return std::string(reader.text()); };
  const auto texts = [&] {
    std::vector<std::string> all;
    for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) all.push_back(text());
    return all;
  };
  runtime_ = text();
  folder_ = text();
  lower_ = text();
  unified_ = text();
  is_crun_ = reader.get<bool>();
  is_warm_ = reader.get<bool>();
  uses_init_ = reader.get<bool>();
  renews_cgroup_ = reader.get<bool>();
  reset_ = reader.get<ContainerReset>();
  most_items_ = reader.get<std::uint32_t>();
  stop_signal_ = reader.get<std::int32_t>();
  cgroup_folders_ = texts();
  join_ = texts();
  clone_into_ = text();
  kill_counts_ = text();
  procs_ = text();
  user_namespace_.read(reader);
  leftovers_ = texts();
  identity_.read(reader);
}

// What is mounted here from now on is nobody else's business, and goes when we do.
std::string Container::take_apart() {
  if (is_apart_) return {};
  ::umask(022);  // whatever drover's is: what an image's users may see is not its affair
  if (user_namespace_.is_wanted()) {
    if (std::string problem = user_namespace_.enter(); !problem.empty()) return problem;
  }
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", "", MS_REC | MS_SLAVE, nullptr) != 0) {
    return because("could not create a mount namespace for containers");
  }
  // What is older than a user namespace can only be covered there.
  if (!unified_.empty() && ::umount2(unified_.c_str(), MNT_DETACH) != 0) {
    ::mount("tmpfs", unified_.c_str(), "tmpfs", MS_RDONLY, "size=4k");
  }
  // Our folder is the same, seen from the new namespace.
  if (::chdir(folder_.c_str()) != 0) return because("could not enter " + folder_);
  is_apart_ = true;
  // What a runtime notes down, it notes while the item may be filling the disk.
  ::mount("tmpfs", "state", "tmpfs", MS_NOSUID | MS_NODEV, "size=8m,mode=700");
  for (const std::string& folder : std::exchange(leftovers_, {})) remove_tree(folder);
  return {};
}

// Layers, and what is written over them.
struct Container::Overlay {
  std::string lower;
  std::string upper;
  std::string work;
  const char* more = "";  // options

  /// Seen at a place, for a runtime. 0, or an errno.
  int mount_at(const char* place) const {
    const std::string options = "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work + more;
    return ::mount("overlay", place, "overlay", 0, options.c_str()) == 0 ? 0 : errno;
  }
  /// Seen nowhere yet: to be taken into another namespace. What is never put anywhere here need not be taken away from
  /// here, for which the kernel waits until all processors have passed by. Empty, with errno.
  Descriptor loose() const {
    const Descriptor context(::fsopen("overlay", FSOPEN_CLOEXEC));
    const auto set = [&](const char* name, const std::string& value) {
      return ::fsconfig(context.get(), FSCONFIG_SET_STRING, name, value.c_str(), 0) == 0;
    };
    if (context && set("source", "overlay") && set("lowerdir", lower) && set("upperdir", upper) &&
        set("workdir", work) && ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
      return Descriptor(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    }
    // More layers than fit into one word of that call.
    if (const int error = mount_at(kItemRoot); error != 0) {
      errno = error;
      return {};
    }
    Descriptor tree(::open_tree(AT_FDCWD, kItemRoot, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    ::umount2(kItemRoot, MNT_DETACH);
    return tree;
  }
};

std::string Container::make_overlay(const std::string& scratch, const std::string& lower, Overlay& overlay) {
  overlay = {lower, scratch + "/u", scratch + "/w", user_namespace_.is_wanted() ? ",userxattr" : ""};
  if (std::erase(spare_, scratch) > 0) return {};
  for (const std::string& each : {scratch, overlay.upper, overlay.work}) {
    if (::mkdir(each.c_str(), 0755) != 0) return because("could not create a container's folder in " + folder_);
  }
  return {};
}

std::string Container::overlay_problem(int error) {
  std::string why = std::string("could not mount the image's layers: ") + strerrordesc_np(error);
  if (error == EINVAL) why += " (overlays cannot be nested: keep Drover's data on a regular file system)";
  return why;
}

std::string Container::prepare() {
  if (std::string problem = take_apart(); !problem.empty()) return problem;
  scratch_folder_ = "scratch/" + std::to_string(++scratch_);
  ::unlink(kPidFile);
  ::unlink(kRuntimeLog);
  Overlay overlay;
  if (std::string problem = make_overlay(scratch_folder_, lower_, overlay); !problem.empty()) return problem;
  const int error = overlay.mount_at(kRoot);
  return error == 0 ? std::string() : overlay_problem(error);
}

Launched Container::call_runtime(OrderKind kind, const TaskPlan& plan, const Setup& setup, int stdout_end,
                                 int stderr_end) {
  const Descriptor order = write_order(kind, plan, setup);
  int ends[2];
  if (!order || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {-1, because("could not start a container")};
  last_words_ = Descriptor(ends[0]);
  const Descriptor said_through(ends[1]);
  const std::string id = "c" + std::to_string(++number_);
  const std::string log = std::string(is_crun_ ? "file:" : "") + kRuntimeLog;
  std::vector<const char*> arguments = {runtime_.c_str(), "--root", "state", "--log", log.c_str()};
  // Where no cgroup may be made, runc finds that out by itself.
  if (is_crun_ && cgroup_folders_.empty()) arguments.insert(arguments.end(), {"--cgroup-manager", "disabled"});
  arguments.insert(arguments.end(), {"run", "--detach", "--bundle", ".", "--pid-file", kPidFile, "--preserve-fds", "2",
                                     id.c_str(), nullptr});
  RuntimeBirth birth{runtime_.c_str(), arguments.data(),   setup,     stdout_end, stderr_end,
                     order.get(),      said_through.get(), ::getpid()};
  alignas(16) static char stack[std::size_t{32} << 10];
  const pid_t pid = ::clone(become_runtime, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (pid < 0) return {-1, explain(runtime_.c_str(), errno)};
  if (birth.error != 0) {
    ::waitpid(pid, nullptr, 0);
    return {-1, explain(runtime_.c_str(), birth.error)};
  }
  runtime_pid_ = pid;
  return {pid, {}};
}

Launched Container::start(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end) {
  if (is_warm_ && first_process_ > 0) return bring_in(plan, setup, stdout_end, stderr_end);
  if (std::string problem = prepare(); !problem.empty()) return {-1, std::move(problem)};
  const OrderKind kind = is_warm_ ? OrderKind::wait : uses_init_ ? OrderKind::run : OrderKind::become;
  if (!is_warm_) return call_runtime(kind, plan, setup, stdout_end, stderr_end);
  // What the first process of a warm one has open stays open for all its items.
  const Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  return call_runtime(kind, {}, setup, nowhere.get(), stderr_end);
}

std::string Container::runtime_problem(int status) const {
  std::string log = read_small(kRuntimeLog);
  while (!log.empty() && log.back() == '\n') log.pop_back();
  const std::size_t line = log.rfind('\n');
  const std::string last = message_in(line == std::string::npos ? log : log.substr(line + 1));
  if (!last.empty()) return "could not start the container: " + last;
  return "could not start the container: " + runtime_ +
         (WIFSIGNALED(status) ? " was killed by signal " + std::to_string(WTERMSIG(status))
                              : " exited with code " + std::to_string(WEXITSTATUS(status)));
}

Launched Container::started(int status, TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end) {
  runtime_pid_ = -1;
  first_process_ = status == 0 ? std::atoi(read_small(kPidFile).c_str()) : -1;
  if (first_process_ <= 0) {
    first_process_ = -1;
    return {-1, runtime_problem(status)};
  }
  if (!is_warm_) return {first_process_, {}};
  // It lets go of this when nobody can look into it any more; no item comes before.
  pollfd ready{last_words_.get(), 0, 0};
  if (::poll(&ready, 1, kReadyMs) <= 0)
    return {-1, "could not start the container: its first process did not become ready"};
  first_process_handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, first_process_, 0)));
  cgroup_.enter(join_, clone_into_, kill_counts_);
  return bring_in(plan, setup, stdout_end, stderr_end);
}

Launched Container::bring_in(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end) {
  Entrance entrance{.first_process = first_process_handle_.get(),
                    .cgroup = cgroup_.birth_descriptor(),
                    .fresh_root = -1,
                    .identity = &identity_};
  Descriptor fresh_root;
  if (reset_ == ContainerReset::overlay) {
    // What the last item had may not be let go of yet.
    item_scratch_ = spare_.size() < kMostSpare ? "scratch/" + std::to_string(++scratch_) : spare_.front();
    Overlay overlay;
    // The container's own writing layer has the places that things are mounted at, and nothing else.
    const std::string lower = scratch_folder_ + "/u:" + lower_;
    if (std::string problem = make_overlay(item_scratch_, lower, overlay); !problem.empty()) return {-1, problem};
    fresh_root = overlay.loose();
    if (!fresh_root) return {-1, overlay_problem(errno)};
    entrance.fresh_root = fresh_root.get();
  }
  return enter(entrance, plan, setup, stdout_end, stderr_end);
}

bool Container::last_words(LastWords& words, std::string& reason) {
  char bytes[sizeof(LastWords) + 4096];
  const ssize_t size = last_words_ ? ::read(last_words_.get(), bytes, sizeof(bytes)) : 0;
  last_words_.reset();
  if (size < static_cast<ssize_t>(sizeof(words))) return false;
  std::memcpy(&words, bytes, sizeof(words));
  reason.assign(bytes + sizeof(words), static_cast<std::size_t>(size) - sizeof(words));
  return true;
}

std::vector<pid_t> Container::others() const {
  std::vector<pid_t> found = processes_in(procs_);
  std::erase_if(found, [&](pid_t pid) { return pid == first_process_ || pid == ::getpid(); });
  return found;
}

bool Container::is_cleared() {
  if (!is_warm_ || first_process_ <= 0) return true;
  const std::vector<pid_t> left = others();
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  return left.empty();
}

void Container::on_ended(pid_t pid) {
  if (!is_first_process(pid)) return;
  first_process_ = -1;
  discard();
}

std::int64_t Container::oom_kills() {
  const std::int64_t now = oom_kills_in(read_small(kill_counts_.c_str()));
  return now - std::exchange(oom_kills_before_, now);
}

void Container::put_away(bool succeeded) {
  if (!is_warm_) {
    first_process_ = -1;
    discard();
    return;
  }
  ++items_;
  last_used_ms_ = steady_ms();
  if (std::string scratch = std::exchange(item_scratch_, {}); !scratch.empty()) {
    if (is_untouched(scratch + "/u")) {
      spare_.push_back(std::move(scratch));
    } else {
      remove_tree(scratch);
    }
  }
  if (!succeeded || items_ >= most_items_) discard();
}

void Container::discard() {
  if (runtime_pid_ > 0) {
    ::kill(runtime_pid_, SIGKILL);
    ::waitpid(std::exchange(runtime_pid_, -1), nullptr, 0);
  }
  if (is_warm_) cgroup_.leave();
  if (first_process_ > 0) {
    ::kill(first_process_, SIGKILL);
    ::waitpid(std::exchange(first_process_, -1), nullptr, 0);
  }
  first_process_handle_.reset();
  last_words_.reset();
  items_ = 0;
  if (scratch_folder_.empty()) return;
  ::umount2(kRoot, MNT_DETACH);
  for (const std::string& folder : std::exchange(spare_, {})) remove_tree(folder);
  for (std::string* folder : {&item_scratch_, &scratch_folder_}) {
    if (!folder->empty()) remove_tree(std::exchange(*folder, {}));
  }
  remove_tree("state/c" + std::to_string(number_));
  if (renews_cgroup_) remove();
}

void Container::remove() {
  remove_cgroup_trees(cgroup_folders_);
  oom_kills_before_ = 0;
}

int Container::idle_ms() const {
  if (!is_warm_ || first_process_ <= 0) return -1;
  return static_cast<int>(std::max<std::int64_t>(0, last_used_ms_ + kMostIdleMs - steady_ms()));
}

}  // namespace drover::slot
