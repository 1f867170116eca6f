#include "run/slot/enter.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "run/slot/birth.h"
#include "run/slot/execute.h"
#include "run/slot/setup.h"

namespace drover::slot {
namespace {

constexpr int kEveryNamespace = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

/// What both processes on the way need to know, and where they leave what went wrong: they run in our memory.
struct Passage {
  const Entrance& entrance;
  TaskPlan& plan;
  const Setup& setup;
  int stdout_end;
  int stderr_end;
  pid_t pid = -1;
  int error = 0;
  const char* step = nullptr;  // what failed; null: becoming the program
};

[[noreturn]] void give_up(Passage& passage, const char* step) {
  passage.error = errno;
  passage.step = step;
  ::_exit(kCouldNotStart);
}

int open_inside(int root, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // Whenever something is mounted or renamed meanwhile, anywhere, the kernel would rather be asked again.
  int opened = -1;
  do opened = static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof(how)));
  while (opened < 0 && (errno == EAGAIN || errno == EINTR));
  return opened;
}

/// The place, made where there is none: what lies in memory is empty at first.
int place_inside(int root, const char* path, bool is_folder) {
  const int found = open_inside(root, path);
  const std::size_t size = std::strlen(path);
  char part[PATH_MAX];
  if (found >= 0 || errno != ENOENT || size >= sizeof(part)) return found;
  int parent = open_inside(root, "/");
  for (std::size_t at = 1; at < size && parent >= 0;) {
    const char* slash = std::strchr(path + at, '/');
    const std::size_t end = slash == nullptr ? size : static_cast<std::size_t>(slash - path);
    std::memcpy(part, path + at, end - at);
    part[end - at] = '\0';
    if (end == size && !is_folder) {
      ::mknodat(parent, part, S_IFREG | 0644, 0);
    } else {
      ::mkdirat(parent, part, 0755);
    }
    ::close(parent);
    std::memcpy(part, path, end);
    part[end] = '\0';
    parent = open_inside(root, part);
    at = end + 1;
  }
  return parent;
}

bool is_folder(int tree) {
  struct stat info{};
  return ::fstat(tree, &info) == 0 && S_ISDIR(info.st_mode);
}

/// The mounts of the container move into the fresh root, which takes the place of the old one. Those in memory are
/// fresh as well.
void change_root(Passage& passage) {
  const int root = passage.entrance.fresh_root;
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0) give_up(passage, "create its namespaces");
  if (::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0) give_up(passage, "make its mounts private");
  const std::vector<Identity::Mount>& mounts = passage.entrance.identity->mounts;
  const std::size_t count = mounts.size();
  int trees[Identity::kMostMounts];
  for (std::size_t i = 0; i < count; ++i) {
    trees[i] = mounts[i].is_memory
                   ? -1
                   : ::open_tree(AT_FDCWD, mounts[i].place.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    // What another mount hides is not there for anybody.
    if (!mounts[i].is_memory && trees[i] < 0 && errno != ENOENT) give_up(passage, "open a mount source");
  }
  // Any place will do: what is there is not seen any more.
  if (::move_mount(root, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) != 0) give_up(passage, "mount its root");
  for (std::size_t i = 0; i < count; ++i) {
    if (!mounts[i].is_memory && trees[i] < 0) continue;
    const int place = place_inside(root, mounts[i].place.c_str(), trees[i] < 0 || is_folder(trees[i]));
    if (place < 0) give_up(passage, "open a mount target in its root");
    if (trees[i] >= 0) {
      if (::move_mount(trees[i], "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
        give_up(passage, "mount into its root");
      }
      ::close(trees[i]);
    } else if (::fchdir(place) != 0 || ::mount(mounts[i].type.c_str(), ".", mounts[i].type.c_str(), mounts[i].flags,
                                               mounts[i].options.c_str()) != 0) {
      give_up(passage, "mount a tmpfs into its root");
    }
    ::close(place);
  }
  if (::fchdir(root) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0) give_up(passage, "enter its root");
  if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) give_up(passage, "leave the old root");
  const bool stays_read_only = passage.entrance.identity->has_read_only_root;
  if (stays_read_only && ::mount("", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
    give_up(passage, "make its root read-only");
  }
}

/// As root, who may have the rights to do so; what is kept is set afterwards.
void become_user(Passage& passage) {
  const Identity& identity = *passage.entrance.identity;
  for (int right = 0; right < 64; ++right) {
    if ((identity.capabilities >> right & 1) == 0 && ::prctl(PR_CAPBSET_DROP, right) != 0) break;  // there are no more
  }
  if (identity.user != 0) ::prctl(PR_SET_KEEPCAPS, 1);
  if (::syscall(SYS_setgroups, identity.groups.size(), identity.groups.data()) != 0 ||
      ::syscall(SYS_setresgid, identity.group, identity.group, identity.group) != 0 ||
      ::syscall(SYS_setresuid, identity.user, identity.user, identity.user) != 0) {
    give_up(passage, "switch to its user");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights[2]{};
  for (int half = 0; half < 2; ++half) {
    const auto bits = static_cast<std::uint32_t>(identity.capabilities >> (32 * half));
    rights[half] = {bits, bits, 0};
  }
  if (::syscall(SYS_capset, &header, rights) != 0) give_up(passage, "drop capabilities");
  if (identity.no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up(passage, "disable new privileges");
}

void filter_calls(Passage& passage) {
  const std::vector<sock_filter>& filter = passage.entrance.identity->filter;
  if (filter.empty()) return;
  const sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) give_up(passage, "filter its system calls");
}

/// The item, in the container's process namespace.
int be_item(void* argument) {
  Passage& passage = *static_cast<Passage*>(argument);
  const Identity& identity = *passage.entrance.identity;
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(passage.stdout_end, STDOUT_FILENO);
  ::dup2(passage.stderr_end, STDERR_FILENO);
  set_limits(passage.setup);
  if (passage.entrance.fresh_root >= 0) change_root(passage);
  for (const auto& [which, limit] : identity.limits) ::setrlimit(static_cast<__rlimit_resource>(which), &limit);
  ::mkdir(identity.workdir.c_str(), 0755);
  if (::chdir(identity.workdir.c_str()) != 0) give_up(passage, "enter its working directory");
  become_user(passage);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten with the user
  ::prctl(PR_SET_DUMPABLE, 1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  filter_calls(passage);
  passage.error = execute(passage.plan);
  ::_exit(kCouldNotStart);
}

/// On the way: whoever joins a process namespace is not in it; its children are. They are also the helper's.
int be_porter(void* argument) {
  Passage& passage = *static_cast<Passage*>(argument);
  if (::setns(passage.entrance.first_process, kEveryNamespace) != 0) give_up(passage, "join its namespaces");
  if (passage.entrance.cgroup >= 0) {
    passage.pid = be_born_into(passage.entrance.cgroup, CLONE_PARENT, be_item, &passage);
  } else {
    alignas(16) static char stack[std::size_t{64} << 10];
    passage.pid = ::clone(be_item, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, &passage);
  }
  if (passage.pid < 0) give_up(passage, "start a process");
  ::_exit(0);
}

}  // namespace

void Identity::read(FrameReader& reader) {
  user = reader.get<std::uint32_t>();
  group = reader.get<std::uint32_t>();
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    groups.push_back(reader.get<std::uint32_t>());
  }
  capabilities = reader.get<std::uint64_t>();
  no_new_privileges = reader.get<bool>();
  has_read_only_root = reader.get<bool>();
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    const auto which = reader.get<std::int32_t>();
    const auto soft = reader.get<std::uint64_t>();
    limits.push_back({which, rlimit{soft, reader.get<std::uint64_t>()}});
  }
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    filter.push_back(reader.get<sock_filter>());
  }
  workdir = reader.text();
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    Mount mount;
    mount.place = reader.text();
    mount.type = reader.text();
    mount.is_memory = !mount.type.empty();
    mount.flags = reader.get<std::uint64_t>();
    mount.options = reader.text();
    if (mounts.size() < kMostMounts) mounts.push_back(std::move(mount));
  }
}

Launched enter(const Entrance& entrance, TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end) {
  alignas(16) static char stack[std::size_t{32} << 10];
  Passage passage{entrance, plan, setup, stdout_end, stderr_end};
  const pid_t porter = ::clone(be_porter, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &passage);
  if (porter < 0) return {-1, explain(plan.program, errno, Sight::elsewhere)};
  ::waitpid(porter, nullptr, 0);
  if (passage.error == 0) return {passage.pid, {}};
  if (passage.pid > 0) ::waitpid(passage.pid, nullptr, 0);
  if (passage.step == nullptr) return {-1, explain(plan.program, passage.error, Sight::elsewhere)};
  return {-1, std::string("could not start the item in its container: could not ") + passage.step + ": " +
                  strerrordesc_np(passage.error)};
}

}  // namespace drover::slot
