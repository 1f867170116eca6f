#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/units.h"
#include "cli/doctor_check.h"
#include "server/lost_ledger.h"
#include "store/ledger_check.h"
#include "store/ledger_file.h"
#include "store/run_folder.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTooLittle = std::uint64_t{256} << 20;  // a server takes no new jobs
constexpr std::uint64_t kLittle = std::uint64_t{2} << 30;
constexpr std::uint64_t kFewInodes = 1000;
// For all ledgers together; whoever has many is told how many were looked at.
constexpr std::int64_t kLedgersMs = 1'200;

struct DiskKind {
  long magic;
  const char* name;
  const char* trouble;  // nullptr: none
};

constexpr const char* kOverNetwork =
    "locks and syncs over a network are not always reliable, and each commit waits for the network";
constexpr DiskKind kDisks[] = {
    {0x6969, "NFS", kOverNetwork},
    {0xFF534D42, "CIFS", kOverNetwork},
    {0xFE534D42, "SMB", kOverNetwork},
    {0x01021997, "9p", kOverNetwork},
    {0x65735546, "FUSE", "whether data survives a power failure depends on the FUSE driver"},
    {0x01021994, "tmpfs", "it is in memory: all data is lost at the next boot"},
    {0x858458f6, "ramfs", "it is in memory: all data is lost at the next boot"},
    {0x794c7630, "overlay", "it is a container's writable layer: all data is lost when the container is removed"},
    {0xEF53, "ext4", nullptr},
    {0x58465342, "XFS", nullptr},
    {0x9123683E, "Btrfs", nullptr},
    {0x2FC12FC1, "ZFS", nullptr},
};

/// The folder, or the nearest above it that is there.
fs::path existing(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

/// Empty: a file can be made there.
std::string why_not_writable(const fs::path& folder) {
  const std::string trial = fmt::format("{}/.doctor-{}", folder.string(), ::getpid());
  const int file = ::open(trial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return std::strerror(errno);
  ::close(file);
  ::unlink(trial.c_str());
  return "";
}

Check folder_itself(const std::string& root, const fs::path& there) {
  std::error_code error;
  if (fs::exists(there, error) && !fs::is_directory(there, error)) {
    return {"data folder", CheckVerdict::problem, fmt::format("{} is not a folder", there.string()),
            "choose another with --data or $DROVER_DATA"};
  }
  if (const std::string why = why_not_writable(there); !why.empty()) {
    return {"data folder", CheckVerdict::problem, fmt::format("{} is not writable: {}", there.string(), why),
            "choose another with --data or $DROVER_DATA, or fix its permissions"};
  }
  const std::string later = there == fs::path(root) ? "" : ", will be created by the first run";
  return {"data folder", CheckVerdict::ok, root + later, ""};
}

Check disk(const fs::path& there) {
  struct statfs kind{};
  if (::statfs(there.c_str(), &kind) != 0) {
    return {"disk", CheckVerdict::problem, fmt::format("{}: {}", there.string(), std::strerror(errno)),
            "check the disk"};
  }
  const auto* known =
      std::ranges::find_if(kDisks, [&](const DiskKind& it) { return it.magic == static_cast<long>(kind.f_type); });
  const std::uint64_t free = std::uint64_t{kind.f_bavail} * static_cast<std::uint64_t>(kind.f_bsize);
  const std::string name = known == std::end(kDisks) ? fmt::format("type 0x{:x}", kind.f_type) : known->name;
  const std::string text = fmt::format("{}, {} free", name, format_size(free));
  if (free < kTooLittle) {
    return {"disk", CheckVerdict::problem, text + ": too little for a server to accept new jobs; runs may stop",
            "free some disk space"};
  }
  if (kind.f_files > 0 && kind.f_ffree < kFewInodes) {
    return {"disk", CheckVerdict::problem,
            fmt::format("{}, but only {}", text, plural(kind.f_ffree, "file")) + " can be created",
            "remove files there"};
  }
  if (known != std::end(kDisks) && known->trouble != nullptr) {
    return {"disk", CheckVerdict::warning, fmt::format("{}; {}", text, known->trouble),
            "keep important data on a local disk: --data DIR or $DROVER_DATA"};
  }
  if (free < kLittle) return {"disk", CheckVerdict::warning, text + ": long logs may fill it", "free some disk space"};
  return {"disk", CheckVerdict::ok, text, ""};
}

/// Somebody has the lock, though the one who took it is gone.
bool is_held(const std::string& folder) {
  const int lock = ::open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0) return false;
  const bool held = ::flock(lock, LOCK_SH | LOCK_NB) != 0;
  ::close(lock);
  return held;
}

void check_locks(const std::string& root, std::vector<Check>& checks) {
  std::string held;
  for (const std::string& name : RunFolder::all(root)) {
    auto folder = RunFolder::look(root, name);
    if (!folder) continue;
    if (const auto pid = folder->holder()) {
      held += fmt::format("{}'{}' by process {}", held.empty() ? "" : ", ", name, *pid);
    } else if (is_held(folder->path())) {
      checks.push_back(
          {"locks", CheckVerdict::warning,
           fmt::format("run '{}' is locked, but its process has exited: some of its items' processes are still exiting",
                       name),
           fmt::format("wait; if it stays locked, find the process: fuser {}/lock", folder->path())});
    }
  }
  checks.push_back({"locks", CheckVerdict::ok, held.empty() ? "no run is locked" : "locked: " + held, ""});
}

struct Ledger {
  std::string title;
  std::string path;
  fs::file_time_type changed;
};

/// The server's, then those of runs, the newest first.
std::vector<Ledger> ledgers_in(const std::string& root) {
  std::vector<Ledger> out;
  std::error_code error;
  const auto add = [&](std::string title, const std::string& path) {
    if (fs::exists(path, error)) out.push_back({std::move(title), path, fs::last_write_time(path, error)});
  };
  // One that is lost is a matter of its own.
  if (const std::string of_server = root + "/server/drover.db"; !is_ledger_missing(of_server)) {
    add("the server", of_server);
  }
  const auto server = static_cast<std::ptrdiff_t>(out.size());
  for (const std::string& name : RunFolder::all(root)) {
    if (auto folder = RunFolder::look(root, name)) add(fmt::format("run '{}'", name), folder->database());
  }
  std::ranges::sort(out.begin() + server, out.end(), std::greater{}, &Ledger::changed);
  return out;
}

std::string remedy(const Error& error, const Ledger& ledger) {
  if (error.code != ErrorCode::damaged) return error.next.empty() ? "check the permissions of its folder" : error.next;
  return ledger.title == "the server"
             ? "restore a backup into another folder: drover restore FILE --data DIR; keep the damaged folder"
             : "keep a copy; sqlite3 FILE .recover may recover most of it";
}

void check_ledgers(const std::string& root, std::vector<Check>& checks) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(kLedgersMs);
  const auto there = check_for_lost_ledger(root + "/server");
  if (!there) checks.push_back({"ledger", CheckVerdict::problem, there.error().message, there.error().next});
  const std::vector<Ledger> ledgers = ledgers_in(root);
  std::size_t whole = 0;
  std::size_t failed = 0;
  std::string older;
  for (const Ledger& ledger : ledgers) {
    const std::int64_t left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left_ms <= 0) break;
    auto state = check_ledger(ledger.path, left_ms);
    if (state) {
      whole += state->was_checked ? 1 : 0;
      continue;
    }
    ++failed;
    if (state.error().code == ErrorCode::bad_input) {
      older += fmt::format("{}{}", older.empty() ? "" : ", ", ledger.title);
      continue;
    }
    checks.push_back({"ledger", CheckVerdict::problem, fmt::format("of {}: {}", ledger.title, state.error().message),
                      remedy(state.error(), ledger)});
  }
  if (!older.empty()) {
    checks.push_back({"ledger", CheckVerdict::warning,
                      fmt::format("{} written by an older version of drover: cannot be read until upgraded", older),
                      "upgrade a run with drover resume RUN; a server upgrades its ledger when it starts"});
  }
  if (!there && ledgers.empty()) return;
  if (ledgers.empty() || whole + failed == 0) {
    checks.push_back({"ledger", CheckVerdict::ok, ledgers.empty() ? "none yet" : "too large to check in a second", ""});
    return;
  }
  const std::string rest = whole + failed == ledgers.size() ? "" : fmt::format(" of {} (the newest)", ledgers.size());
  if (whole > 0)
    checks.push_back({"ledger", CheckVerdict::ok, fmt::format("{}{} checked, no damage found", whole, rest), ""});
}

}  // namespace

std::vector<Check> check_folder(const std::string& root) {
  const fs::path there = existing(root);
  std::vector<Check> checks{folder_itself(root, there), disk(there)};
  check_locks(root, checks);
  check_ledgers(root, checks);
  return checks;
}

}  // namespace drover
