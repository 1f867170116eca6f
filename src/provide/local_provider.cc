#include "provide/local_provider.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "base/name.h"
#include "base/text.h"
#include "host/cgroup_tree.h"
#include "ports/descriptor.h"
#include "provide/child_process.h"
#include "provide/shape_flags.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

// A worker that has nothing to do exits at once. One that hangs is told again, which kills what it runs, and is then
// killed itself.
constexpr std::int64_t kTellAgainMs = 5'000;
constexpr std::int64_t kKillMs = 15'000;
constexpr std::uintmax_t kLastWordsBytes = 4096;
constexpr const char* kCgroupFile = "/cgroup";

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The end of the log.
std::string last_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uintmax_t>(std::max<std::streamoff>(file.tellg(), 0));
  file.seekg(static_cast<std::streamoff>(size - std::min(size, kLastWordsBytes)));
  return last_line(std::string((std::istreambuf_iterator<char>(file)), {}));
}

/// Whether somebody holds it. Nothing: it cannot be told.
Result<bool> is_held(const std::string& lock_path) {
  const Descriptor lock(::open(lock_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!lock) {
    if (errno == ENOENT) return false;
    return std::unexpected(errno_error(errno, lock_path));
  }
  if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return std::unexpected(errno_error(errno, lock_path));
}

std::vector<std::string> worker_command(const LocalProvider::Options& options, const MachineOrder& order) {
  std::vector<std::string> words = {options.program, "worker", "--data", options.data, "--name", order.name};
  std::ranges::move(shape_flags(order), std::back_inserter(words));
  return words;
}

std::vector<std::string> worker_environment(const MachineOrder& order) {
  std::vector<std::string> out = child_environment({"DROVER_WORKER_", "AWS_"});
  out.push_back(concat("DROVER_JOIN=", order.join_token));
  return out;
}

/// In a session of its own, so that Ctrl-C in the server's terminal is not for it; and it keeps the lock.
Result<StartedChild> start_worker(ChildStart worker, const std::string& log) {
  const Descriptor in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!in || !out) return std::unexpected(errno_error(errno, in ? log : "/dev/null"));
  worker.in = in.get();
  worker.out = worker.err = out.get();
  worker.has_session = true;
  return start_child(worker);
}

}  // namespace

LocalProvider::LocalProvider(Options options, SteadyClock& clock) : options_(std::move(options)), clock_(clock) {}

LocalProvider::~LocalProvider() {
  reap();
}

std::string LocalProvider::folder_of(const std::string& name) const {
  return concat(options_.folder, "/", name);
}

Result<std::string> LocalProvider::launch(const MachineOrder& order) {
  reap();
  if (!is_valid_name(order.name)) return fail(ErrorCode::bad_input, concat("invalid machine name '", order.name, "'"));
  const std::string folder = folder_of(order.name);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return std::unexpected(errno_error(error.value(), folder));
  const std::string lock_path = folder + "/lock";
  Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return std::unexpected(errno_error(errno, lock_path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return std::unexpected(errno_error(errno, lock_path));
    const auto running = processes_of(order.name);
    return running.empty() ? std::string() : concat("pid ", running.front());
  }
  auto join = make_cgroup(order);
  if (!join) say_without_cgroup(join.error());
  auto child = start_worker({.words = worker_command(options_, order),
                             .environment = worker_environment(order),
                             .keep = lock.get(),
                             .join = join ? std::move(*join) : std::vector<std::string>()},
                            folder + "/log");
  if (!child) {
    lock.reset();
    (void)remove(order.name);
    return pass(child);
  }
  if (child->join_error != 0) say_without_cgroup(errno_error(child->join_error, "a worker could not enter its cgroup"));
  children_.emplace(child->pid, order.name);
  return concat("pid ", child->pid);
}

/// Unique on this machine, on which there may be other servers.
std::string LocalProvider::cgroup_of(const std::string& name) const {
  std::error_code error;
  Hasher hasher;
  hasher.add(fs::weakly_canonical(options_.folder, error).string());
  char hash[9];
  std::snprintf(hash, sizeof hash, "%08x", static_cast<unsigned>(hasher.value() & 0xffffffff));
  return concat(hash, ".", name);
}

/// Folders of the cgroup that its machine was to have, of this server or of one before it.
std::vector<std::string> LocalProvider::cgroups_made_for(const std::string& name) const {
  std::vector<std::string> folders;
  std::ifstream file(folder_of(name) + kCgroupFile);
  for (std::string folder; std::getline(file, folder);) {
    const std::string last = fs::path(folder).filename();
    if (last.starts_with(machine_cgroup_name("")) && last.ends_with("." + name)) folders.push_back(std::move(folder));
  }
  return folders;
}

/// The folders that its worker enters.
Result<std::vector<std::string>> LocalProvider::make_cgroup(const MachineOrder& order) {
  if (!cgroups_) cgroups_ = MachineCgroups::find(options_.process);
  if (!*cgroups_) return std::unexpected(cgroups_->error());
  remove_cgroup_trees(cgroups_made_for(order.name));  // of a server that was killed at this point
  const MachineCgroup cgroup = (*cgroups_)->place(cgroup_of(order.name));
  const std::string path = folder_of(order.name) + kCgroupFile;
  std::ofstream file(path, std::ios::trunc);
  for (const std::string& folder : cgroup.folders) file << folder << '\n';
  file.close();
  if (!file) return fail(ErrorCode::io, concat("cannot write ", path));
  if (auto made = (*cgroups_)->make(cgroup, {order.has.milli_cpus, order.has.memory_bytes}); !made) return pass(made);
  return cgroup.join;
}

void LocalProvider::say_without_cgroup(const Error& why) const {
  options_.notice(
      concat("local machines run without cgroups, so the items of a machine can together "
             "use more CPUs and memory than it has: ",
             why.message, why.next.empty() ? "" : concat("; next: ", why.next)));
}

// A zombie still names its process.
void LocalProvider::reap() {
  for (auto it = children_.begin(); it != children_.end();) {
    int status = 0;
    it = ::waitpid(it->first, &status, WNOHANG) == 0 ? std::next(it) : children_.erase(it);
  }
}

/// Those that run it, by the name on their command line: it is nobody else's.
std::vector<pid_t> LocalProvider::processes_of(const std::string& name) const {
  std::vector<pid_t> out;
  const std::string wanted =
      concat('\0', "worker", '\0', "--data", '\0', options_.data, '\0', "--name", '\0', name, '\0');
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (content_of(concat("/proc/", pid, "/cmdline")).contains(wanted)) out.push_back(std::stoi(pid));
  }
  return out;
}

Result<void> LocalProvider::terminate(const std::string& name) {
  reap();
  if (!is_valid_name(name)) return fail(ErrorCode::bad_input, concat("invalid machine name '", name, "'"));
  auto held = is_held(folder_of(name) + "/lock");
  if (!held) return pass(held);
  if (!*held) return remove(name);
  const std::int64_t now_ms = clock_.elapsed_ns() / 1'000'000;
  const auto [asked, is_first] = asked_to_end_.try_emplace(name, now_ms);
  const std::int64_t since_ms = now_ms - asked->second;
  if (since_ms >= kKillMs) remove_cgroup_trees(cgroups_made_for(name));
  for (const pid_t pid : processes_of(name)) {
    if (since_ms >= kKillMs) {
      ::kill(pid, SIGKILL);
    } else if (is_first || since_ms >= kTellAgainMs) {
      ::kill(pid, SIGTERM);
    }
  }
  return {};
}

Result<void> LocalProvider::remove(const std::string& name) {
  if (!remove_cgroup_trees(cgroups_made_for(name))) {
    return fail(ErrorCode::in_use, concat("processes of machine '", name, "' are still running in its cgroup"));
  }
  asked_to_end_.erase(name);
  std::error_code error;
  for (const std::string& folder : {concat(options_.data, "/workers/", name), folder_of(name)}) {
    fs::remove_all(folder, error);
    if (error) return std::unexpected(errno_error(error.value(), folder));
  }
  return {};
}

Result<MachineList> LocalProvider::list() {
  reap();
  MachineList out{.machines = {}, .is_exact = true};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.folder, error)) {
    ListedMachine machine{.name = entry.path().filename().string(), .id = {}};
    auto held = is_held(entry.path().string() + "/lock");
    if (!held) return pass(held);
    machine.has_ended = !*held;
    if (machine.has_ended) {
      const std::string said = last_words(entry.path().string() + "/log");
      machine.note = said.empty() ? "its worker has exited" : concat("its worker has exited: ", said);
    }
    for (const auto& [pid, name] : children_) {
      if (name == machine.name) machine.id = concat("pid ", pid);
    }
    out.machines.push_back(std::move(machine));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected(errno_error(error.value(), options_.folder));
  }
  std::ranges::sort(out.machines, {}, &ListedMachine::name);
  return out;
}

}  // namespace drover
