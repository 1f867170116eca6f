#include "store/run_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kGhostPatience{60};
// A process that has just taken a lock needs a moment to write down that it holds it.
constexpr std::chrono::seconds kNewHolderPatience{1};
// What is on its way out stands beside the runs, under names that begin so.
constexpr std::string_view kAside = ".aside-";
constexpr std::string_view kDeleted = ".deleted-";

// When a process started, in clock ticks since boot: with the pid it names the process for good.
std::optional<std::string> start_time(int pid) {
  std::ifstream file(concat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) rest >> field;
  return field;
}

// The lock file says "pid start-time".
std::optional<int> living_holder(const std::string& lock_path) {
  std::ifstream file(lock_path);
  int pid = 0;
  std::string started;
  if (!(file >> pid >> started) || pid <= 0) return std::nullopt;
  return start_time(pid) == started ? std::optional(pid) : std::nullopt;
}

bool is_file_at(int descriptor, const std::string& path) {
  struct stat mine{};
  struct stat there{};
  return fstat(descriptor, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

Error folder_error(int error_number, const std::string& path) {
  return errno_error(error_number, path, "choose a writable folder with --data or $DROVER_DATA");
}

}  // namespace

std::string data_root(const std::string& flag) {
  if (!flag.empty()) return fs::absolute(flag).lexically_normal().string();
  if (const char* set = std::getenv("DROVER_DATA"); set != nullptr && *set != '\0') {
    return fs::absolute(set).lexically_normal().string();
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    const passwd* user = getpwuid(getuid());
    home = user != nullptr ? user->pw_dir : "/";
  }
  return concat(home, "/.local/share/drover");
}

RunFolder::RunFolder(std::string root, std::string name)
    : root_(std::move(root)), name_(std::move(name)), path_(concat(root_, "/runs/", name_)) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : root_(std::move(other.root_)),
      name_(std::move(other.name_)),
      path_(std::move(other.path_)),
      kind_(other.kind_),
      lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

Result<RunFolder> RunFolder::hold(const std::string& root, const std::string& name,
                                  const std::function<void(const std::string&)>& notice) {
  RunFolder folder(root, name);
  if (auto taken = folder.take_lock(notice); !taken) return pass(taken);
  if (auto recovered = folder.recover_aside(); !recovered) return pass(recovered);
  return folder;
}

Result<RunFolder> RunFolder::hold_server(const std::string& root) {
  RunFolder folder(root, "server");
  folder.kind_ = Kind::server;
  folder.path_ = concat(root, "/server");
  if (auto taken = folder.take_lock([](const std::string&) {}); !taken) return pass(taken);
  return folder;
}

Result<RunFolder> RunFolder::hold_worker(const std::string& root, const std::string& name) {
  RunFolder folder(root, name);
  folder.kind_ = Kind::worker;
  folder.path_ = concat(root, "/workers/", name);
  if (auto taken = folder.take_lock([](const std::string&) {}); !taken) return pass(taken);
  return folder;
}

std::string RunFolder::title() const {
  switch (kind_) {
    case Kind::server: return concat("the server's folder ", path_);
    case Kind::worker: return concat("the folder of worker '", name_, "', ", path_, ",");
    case Kind::run: break;
  }
  return concat("run '", name_, "'");
}

std::string RunFolder::what_to_do() const {
  switch (kind_) {
    case Kind::server: return "use that server, or another folder with --data";
    case Kind::worker: return "one worker per machine is enough; start a second one with another --name";
    case Kind::run: break;
  }
  return concat("watch it with 'drover status ", name_, "', stop it with 'drover cancel ", name_, "'");
}

Result<void> RunFolder::take_lock(const std::function<void(const std::string&)>& notice) {
  const std::string lock_path = path_ + "/lock";
  const auto begun = std::chrono::steady_clock::now();
  bool said = false;
  while (true) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) return std::unexpected(folder_error(error.value(), path_));
    lock_ = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock_ < 0) return std::unexpected(folder_error(errno, lock_path));
    const bool locked = flock(lock_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK && errno != EINTR) return std::unexpected(folder_error(errno, lock_path));
    // The folder may have been moved away between the opening and the locking: then this is a lock on nothing.
    if (locked && is_file_at(lock_, lock_path)) break;
    close(std::exchange(lock_, -1));
    if (const auto pid = locked ? std::nullopt : living_holder(lock_path)) {
      return fail(ErrorCode::in_use, concat(title(), " is in use by process ", *pid), what_to_do());
    }
    const auto waited = std::chrono::steady_clock::now() - begun;
    if (waited > kGhostPatience) {
      return fail(ErrorCode::in_use,
                  concat(title(), " was left by a killed process, and some of its child processes have not exited"),
                  "use ps to find drover-slot and the hung processes below it");
    }
    if (!said && !locked && waited > kNewHolderPatience) {
      notice(concat("waiting for the processes of the killed run '", name_, "' to exit"));
      said = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::string content = concat(getpid(), " ", start_time(getpid()).value_or("0"), "\n");
  if (ftruncate(lock_, 0) != 0 || pwrite(lock_, content.data(), content.size(), 0) != std::ssize(content)) {
    return std::unexpected(folder_error(errno, lock_path));
  }
  return {};
}

Result<std::string> RunFolder::claim(const std::string& root, const std::string& base) {
  std::error_code error;
  fs::create_directories(root + "/runs", error);
  if (error) return std::unexpected(folder_error(error.value(), root + "/runs"));
  for (int i = 1;; ++i) {
    std::string name = i == 1 ? base : concat(base, "-", i);
    if (fs::create_directory(concat(root, "/runs/", name), error)) return name;
    if (error) return std::unexpected(folder_error(error.value(), concat(root, "/runs/", name)));
  }
}

Result<RunFolder> RunFolder::look(const std::string& root, const std::string& name) {
  RunFolder folder(root, name);
  if (folder.has_database() && folder.holder()) return folder;
  // Set aside, and nothing has taken its place yet.
  RunFolder before(root, name);
  before.path_ = before.aside();
  if (before.has_database()) return before;
  if (!folder.has_database()) {
    return fail(ErrorCode::not_found, concat("run '", name, "' not found in ", root), "list runs with 'drover runs'");
  }
  return folder;
}

bool RunFolder::has_job() const {
  auto reader = open_sqlite_reader(database());
  if (!reader) return true;
  auto jobs = (*reader)->jobs();
  return !jobs || !jobs->empty();
}

bool RunFolder::has_database() const {
  std::error_code error;
  return fs::exists(database(), error);
}

std::optional<int> RunFolder::holder() const {
  const std::string lock_path = path_ + "/lock";
  const int lock = open(lock_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0) return std::nullopt;
  const bool free = flock(lock, LOCK_SH | LOCK_NB) == 0;
  close(lock);
  return free ? std::nullopt : living_holder(lock_path);
}

std::optional<int> RunFolder::server_holder(const std::string& root) {
  RunFolder folder(root, "server");
  folder.path_ = concat(root, "/server");
  return folder.holder();
}

std::vector<std::string> RunFolder::all(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/runs", error)) {
    const std::string name = entry.path().filename().string();
    if (is_valid_name(name) && !name.starts_with(kAside) && !name.starts_with(kDeleted)) names.push_back(name);
    if (name.starts_with(kAside)) names.push_back(name.substr(kAside.size()));
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::optional<std::string> RunFolder::newest(const std::string& root) {
  using Time = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::pair<Time, std::string>> found;
  for (const std::string& name : all(root)) {
    struct stat info{};
    if (stat(concat(root, "/runs/", name, "/lock").c_str(), &info) != 0) continue;
    if (RunFolder(root, name).has_database()) found.push_back({{info.st_mtim.tv_sec, info.st_mtim.tv_nsec}, name});
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<Time, std::string>::first);
  for (const auto& [time, name] : found) {
    const RunFolder folder(root, name);
    if (folder.has_job() || folder.holder()) return name;
  }
  return std::nullopt;
}

// By one rename, so that a crash leaves either all of it or none in its place; its lock goes with it.
Result<void> RunFolder::set_aside() {
  std::error_code error;
  fs::rename(path_, aside(), error);
  if (error) return std::unexpected(folder_error(error.value(), path_));
  const int old_lock = std::exchange(lock_, -1);
  auto taken = take_lock([](const std::string&) {});
  close(old_lock);
  return taken;
}

Result<void> RunFolder::drop_aside() {
  std::error_code error;
  if (!fs::exists(aside(), error)) return {};
  fs::rename(aside(), gone(), error);
  if (!error) fs::remove_all(gone(), error);
  if (error) return std::unexpected(folder_error(error.value(), aside()));
  return {};
}

// Somebody set the old content aside and died before the new one could take its place: the old one counts.
Result<void> RunFolder::recover_aside() {
  std::error_code error;
  if (!fs::exists(aside(), error)) return {};
  if (auto discarded = discard(); !discarded) return discarded;
  return take_lock([](const std::string&) {});
}

Result<void> RunFolder::discard() {
  std::error_code error;
  fs::rename(path_, gone(), error);
  if (!error && fs::exists(aside(), error)) fs::rename(aside(), path_, error);
  if (error) return std::unexpected(folder_error(error.value(), path_));
  fs::remove_all(gone(), error);
  close(std::exchange(lock_, -1));
  if (error) return std::unexpected(folder_error(error.value(), gone()));
  return {};
}

std::string RunFolder::gone() const {
  return concat(root_, "/runs/", kDeleted, name_, "-", getpid());
}

std::string RunFolder::aside() const {
  return concat(root_, "/runs/", kAside, name_);
}

}  // namespace drover
