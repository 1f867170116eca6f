#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "base/units.h"
#include "cli/doctor_check.h"
#include "engine/system_clock.h"
#include "run/cgroups.h"

namespace drover {
namespace {

constexpr std::pair<int, int> kOldestKernel{5, 10};
constexpr rlim_t kFewFiles = 4096;
constexpr std::uint64_t kFewProcesses = 4096;
constexpr std::uint64_t kSmallSharedMemory = std::uint64_t{64} << 20;
constexpr int kYearOfThis = 2025;  // whatever clock says less is wrong

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Check kernel() {
  utsname name{};
  ::uname(&name);
  int major = 0;
  int minor = 0;
  [[maybe_unused]] const int read = std::sscanf(name.release, "%d.%d", &major, &minor);
  if (std::pair(major, minor) >= kOldestKernel) return {"kernel", CheckVerdict::ok, name.release, ""};
  return {"kernel", CheckVerdict::problem,
          fmt::format("{} is older than {}.{}, the oldest that drover supports", name.release, kOldestKernel.first,
                      kOldestKernel.second),
          "use a newer kernel"};
}

Check cgroups() {
  const Cgroups found = Cgroups::find();
  constexpr ItemLimits kTrial{.memory_bytes = std::uint64_t{1} << 30, .milli_cpus = 1000, .processes = 64};
  SlotCgroup trial = found.make(kTrial);
  const bool holds_memory = trial.holds_memory;
  const bool holds_cpus = trial.holds_cpus;
  const bool holds_pids = !trial.join.empty() || !trial.clone_into.empty();
  trial.remove();
  if (found.version() == CgroupVersion::none || !holds_pids) {
    return {
        "cgroups", CheckVerdict::warning,
        "cannot be created on this machine: --memory limits the address space of each process, --cpus the CPUs it may "
        "use, and --pids has no effect",
        "run drover as root, in a unit with Delegate=yes, or in a container with a writable cgroup of its own"};
  }
  const std::string version = found.version() == CgroupVersion::v2 ? "version 2" : "version 1";
  if (holds_memory && holds_cpus) {
    return {"cgroups", CheckVerdict::ok, fmt::format("{}: --memory, --cpus and --pids are enforced", version), ""};
  }
  const std::string missing = !holds_memory && !holds_cpus ? "--memory and --cpus"
                              : holds_memory               ? "--cpus"
                                                           : "--memory";
  return {"cgroups", CheckVerdict::warning,
          fmt::format("{}, without the controllers for {}: enforced less strictly", version, missing),
          "delegate the memory and cpu controllers to drover's cgroup"};
}

Check open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= kFewFiles) {
    return {"open files", CheckVerdict::ok,
            limit.rlim_max == RLIM_INFINITY ? "no limit" : fmt::format("up to {}", format_count(limit.rlim_max)), ""};
  }
  return {"open files", CheckVerdict::warning,
          fmt::format("at most {}: too few for a server or worker under load", format_count(limit.rlim_max)),
          fmt::format("raise it: ulimit -Hn {}, or LimitNOFILE= in the unit", kFewFiles * 16)};
}

/// 0: no limit that is known.
std::uint64_t process_limit() {
  std::uint64_t least = 0;
  const auto take = [&](std::uint64_t limit) { least = least == 0 ? limit : std::min(least, limit); };
  rlimit user{};
  getrlimit(RLIMIT_NPROC, &user);
  if (user.rlim_cur != RLIM_INFINITY && ::geteuid() != 0) take(user.rlim_cur);
  for (const char* path : {"/proc/sys/kernel/pid_max", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"}) {
    if (auto number = parse_number(first_line(path)); number && *number > 0) take(*number);
  }
  return least;
}

Check processes() {
  const std::uint64_t limit = process_limit();
  if (limit == 0 || limit >= kFewProcesses) {
    return {"processes", CheckVerdict::ok, limit == 0 ? "no limit" : fmt::format("up to {}", format_count(limit)), ""};
  }
  return {"processes", CheckVerdict::warning,
          fmt::format("at most {}, for all items and drover itself", format_count(limit)),
          "raise ulimit -u, or the container's pids limit"};
}

Check clock() {
  const std::int64_t now_ms = SystemWallClock().epoch_ms();
  const std::tm now = fmt::gmtime(static_cast<std::time_t>(now_ms / 1000));
  if (now.tm_year + 1900 < kYearOfThis) {
    return {"clock", CheckVerdict::problem,
            fmt::format("it reads {:%Y-%m-%d}, which is in the past: certificates will not verify", now),
            "set the clock"};
  }
  timex state{};
  const int told = adjtimex(&state);
  if (told >= 0 && (state.status & STA_UNSYNC) != 0) {
    return {"clock", CheckVerdict::warning, fmt::format("{:%Y-%m-%d %H:%M:%S} UTC, not synchronised", now),
            "synchronise it with chrony or systemd-timesyncd"};
  }
  return {"clock", CheckVerdict::ok, fmt::format("{:%Y-%m-%d %H:%M:%S} UTC{}", now, told >= 0 ? ", synchronised" : ""),
          ""};
}

Check shared_memory() {
  struct statvfs disk{};
  if (::statvfs("/dev/shm", &disk) != 0 || ::access("/dev/shm", W_OK) != 0) {
    return {"/dev/shm", CheckVerdict::warning,
            "missing or not accessible to this user: programs that use shared memory will fail",
            "mount a tmpfs there with mode 1777"};
  }
  const std::uint64_t size = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  if (size <= kSmallSharedMemory) {
    return {"/dev/shm", CheckVerdict::warning,
            fmt::format("{}: too small for programs that load data in several processes", format_size(size)),
            "make it larger (for a container: --shm-size)"};
  }
  return {"/dev/shm", CheckVerdict::ok, format_size(size), ""};
}

Check core_dumps() {
  const std::string pattern = first_line("/proc/sys/kernel/core_pattern");
  if (pattern.starts_with('|')) {
    return {"core dumps", CheckVerdict::warning,
            fmt::format("piped to {}: every crashing item starts it", pattern.substr(1, pattern.find(' ') - 1)),
            "if many items may crash, set kernel.core_pattern to a file name"};
  }
  return {"core dumps", CheckVerdict::ok, pattern.empty() ? "off" : fmt::format("written to files named {}", pattern),
          ""};
}

Check memory() {
  struct sysinfo info{};
  ::sysinfo(&info);
  const auto bytes = [&](unsigned long units) { return std::uint64_t{units} * info.mem_unit; };
  const std::string swap = info.totalswap == 0
                               ? "no swap"
                               : fmt::format("{} of {} swap in use", format_size(bytes(info.totalswap - info.freeswap)),
                                             format_size(bytes(info.totalswap)));
  const std::string text = fmt::format("{}, {}", format_size(bytes(info.totalram)), swap);
  if (info.totalswap > 0 && info.freeswap < info.totalswap / 4) {
    return {"memory", CheckVerdict::warning, text + ": items may run slowly",
            "run fewer items at once with --jobs or --memory"};
  }
  return {"memory", CheckVerdict::ok, text, ""};
}

}  // namespace

std::vector<Check> check_machine() {
  return {kernel(), cgroups(), memory(), open_files(), processes(), shared_memory(), core_dumps(), clock()};
}

}  // namespace drover
