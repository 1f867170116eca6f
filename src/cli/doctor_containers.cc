#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/doctor_check.h"
#include "run/image/child_program.h"
#include "run/oci_runtime.h"
#include "run/user_namespace.h"
#include "worker/machine_runner.h"

namespace drover {
namespace {

constexpr long kOverlayMagic = 0x794c7630;
constexpr std::int64_t kAnswersWithinMs = 3'000;

/// What it says first when it is asked for its version; empty: it cannot be run.
std::string version_of(const std::string& program) {
  const ChildEnd end = run_child({.words = {program, "--version"}, .folder = {}, .environment = {}},
                                 {.stall_ms = kAnswersWithinMs, .headway = {}, .stop = {}});
  if (end.how != ChildEnd::How::exited || end.number != 0) return {};
  return end.out.substr(0, end.out.find('\n'));
}

/// Whether layers can be stacked here, tried in memory that nobody else sees: 0, or why not.
int overlay_error() {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    constexpr const char* kPlace = "/proc";  // is there on every machine, and only hidden from the child
    const bool is_mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            ::mount("tmpfs", kPlace, "tmpfs", 0, "size=64k") == 0 && ::chdir(kPlace) == 0 &&
                            ::mkdir("lower", 0700) == 0 && ::mkdir("upper", 0700) == 0 && ::mkdir("work", 0700) == 0 &&
                            ::mkdir("root", 0700) == 0 &&
                            ::mount("overlay", "root", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work") == 0;
    ::_exit(is_mounted ? 0 : errno);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

Check without_root(const std::string& version) {
  const auto space = find_user_namespace();
  if (!space) return {"containers", CheckVerdict::warning, space.error().message, space.error().next};
  std::uint64_t users = 0;
  for (const IdMap& map : space->users) users += map.count;
  if (users == 1) {
    return {"containers", CheckVerdict::warning,
            fmt::format("run with {}, rootless, but only as user 0 in the container", version),
            "for other users: apt-get install uidmap; usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "
            "NAME"};
  }
  return {"containers", CheckVerdict::ok, fmt::format("run with {}, rootless, as users 0 to {}", version, users - 1),
          ""};
}

Check runtime() {
  const auto found = find_oci_runtime(ContainerRuntime::any);
  if (!found && runtime_for({}) == ContainerRuntime::docker) {
    return {"containers", CheckVerdict::ok, "run with Docker on this machine", ""};
  }
  if (!found) return {"containers", CheckVerdict::warning, found.error().message, found.error().next};
  const std::string version = version_of(found->path);
  if (version.empty()) {
    return {"containers", CheckVerdict::warning,
            fmt::format("cannot run (--image): '{} --version' failed", found->path),
            fmt::format("check the output of {} --version", found->path)};
  }
  if (!may_mount()) return without_root(version);
  if (const int error = overlay_error(); error != 0) {
    return {"containers", CheckVerdict::warning,
            fmt::format("cannot run (--image): image layers cannot be mounted: {}", std::strerror(error)),
            "load the kernel's overlay module: modprobe overlay"};
  }
  return {"containers", CheckVerdict::ok, fmt::format("run with {}", version), ""};
}

Check images() {
  const std::string version = version_of("skopeo");
  if (version.empty()) {
    return {"images", CheckVerdict::warning, "cannot be fetched from registries: skopeo is not installed",
            "install it: apt-get install skopeo; oci: and rootfs: work without it"};
  }
  return {"images", CheckVerdict::ok, fmt::format("fetched with {}", version), ""};
}

}  // namespace

std::vector<Check> check_containers(const std::string& root) {
  std::vector<Check> checks = {runtime(), images()};
  std::error_code ignored;
  std::filesystem::path there = root;
  while (!std::filesystem::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  struct statfs kind{};
  if (::statfs(there.c_str(), &kind) == 0 && static_cast<long>(kind.f_type) == kOverlayMagic) {
    checks.push_back(
        {"layers", CheckVerdict::warning,
         fmt::format("{} is on an overlay file system, and overlays cannot be nested: containers (--image) cannot "
                     "run with data there",
                     there.string()),
         "use --data with a folder on a regular file system, such as a volume"});
  }
  return checks;
}

}  // namespace drover
