#include "run/user_namespace.h"

#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "host/system_files.h"
#include "run/installed_program.h"

namespace drover {
namespace {

// What the kernel takes.
constexpr std::size_t kMostMaps = 340;

std::string own_name() {
  passwd entry{};
  passwd* found = nullptr;
  char room[4096];
  ::getpwuid_r(::geteuid(), &entry, room, sizeof(room), &found);
  return found != nullptr ? found->pw_name : std::string();
}

/// In the new namespace, with our memory: some machines give one, and nothing to do in it.
int try_to_mount(void*) {
  ::_exit(::unshare(CLONE_NEWNS) == 0 ? 0 : 1);
}

bool may_have_one() {
  alignas(16) char stack[std::size_t{16} << 10];
  const pid_t child =
      ::clone(try_to_mount, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_NEWUSER | SIGCHLD, nullptr);
  if (child < 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool is_mapped(const std::vector<IdMap>& maps, std::uint32_t id) {
  return std::ranges::any_of(maps, [&](const IdMap& it) { return id >= it.inside && id - it.inside < it.count; });
}

bool is_known_inside(const std::vector<IdMap>& maps, std::uint32_t outside) {
  return std::ranges::any_of(maps,
                             [&](const IdMap& it) { return outside >= it.outside && outside - it.outside < it.count; });
}

std::vector<IdMap> maps_of(std::uint32_t own_id, const std::string& subordinates, const std::string& user_name,
                           std::uint32_t user_id) {
  std::vector<IdMap> maps = {{0, own_id, 1}};
  std::uint32_t next = 1;
  for (const std::string& line : split_fields(subordinates, '\n')) {
    const auto fields = split_fields(line, ':');
    if (fields.size() != 3 || (fields[0] != user_name && whole_number(fields[0]) != user_id)) continue;
    const auto first = whole_number(fields[1]);
    const auto count = whole_number(fields[2]);
    if (!first || !count || *count == 0 || *count > UINT32_MAX - next || *count > UINT32_MAX - *first) continue;
    const auto overlaps = [&](const IdMap& it) {
      return *first < it.outside + it.count && it.outside < *first + *count;
    };
    if (std::ranges::any_of(maps, overlaps) || maps.size() >= kMostMaps) continue;
    maps.push_back({next, *first, *count});
    next += *count;
  }
  return maps;
}

bool may_mount() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights[2]{};
  if (::syscall(SYS_capget, &header, rights) != 0) return false;
  return (rights[0].effective >> CAP_SYS_ADMIN & 1) != 0;
}

Result<UserNamespace> find_user_namespace() {
  if (!may_have_one()) {
    return fail(ErrorCode::denied,
                "cannot run containers on this machine: the current user is not root and cannot create user namespaces",
                "run drover as root, allow user namespaces (sysctl user.max_user_namespaces, "
                "kernel.apparmor_restrict_unprivileged_userns), or use Docker with --runtime docker");
  }
  UserNamespace found;
  found.users = maps_of(::geteuid(), read_system_file("/etc/subuid"), own_name(), ::geteuid());
  found.groups = maps_of(::getegid(), read_system_file("/etc/subgid"), own_name(), ::geteuid());
  found.map_users = installed_program("newuidmap");
  found.map_groups = installed_program("newgidmap");
  const bool has_more = found.users.size() > 1 && found.groups.size() > 1;
  if (!has_more || found.map_users.empty() || found.map_groups.empty()) {
    found.users.resize(1);
    found.groups.resize(1);
    found.map_users.clear();
    found.map_groups.clear();
  }
  return found;
}

bool may_make_containers() {
  static const bool may = may_mount() || may_have_one();
  return may;
}

}  // namespace drover
