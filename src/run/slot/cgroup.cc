#include "run/slot/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "host/cgroup_tree.h"

namespace drover::slot {
namespace {

/// "0" means the process that writes it.
void move_into(const std::string& folder) {
  const Descriptor file(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (file) static_cast<void>(::write(file.get(), "0", 1) == 1);
}

std::string parent_of(const std::string& folder) {
  return folder.substr(0, folder.rfind('/'));
}

bool write_file(const std::string& path, const char* text, std::size_t size) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text, size) == static_cast<ssize_t>(size);
}

std::size_t read_file(const std::string& path, char* out, std::size_t room) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), out, room - 1) : -1;
  out[size > 0 ? size : 0] = '\0';
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

void copy_setting(const std::string& from, const std::string& to, const char* name) {
  char text[128];
  const std::size_t size = read_file(from + name, text, sizeof(text));
  if (size > 0) write_file(to + name, text, size);
}

}  // namespace

std::string Cgroup::memory_folder() const {
  return parent_of(kill_counts_path_);
}

std::uint64_t Cgroup::memory_in_use() const {
  char text[64];
  const char* name = joined_ ? "/memory.usage_in_bytes" : "/memory.current";
  return read_file(memory_folder() + name, text, sizeof(text)) > 0 ? std::strtoull(text, nullptr, 10) : 0;
}

void Cgroup::renew_if_full(std::uint64_t limit) {
  is_fresh_ = false;
  if (limit == 0 || !kill_counts_ || memory_in_use() < limit / 4) return;
  const std::string old = memory_folder();
  // What is only cached goes when it is asked to.
  if (joined_) write_file(old + "/memory.force_empty", "0", 1);
  if (!joined_) write_file(old + "/memory.reclaim", "1G", 2);
  if (memory_in_use() < limit / 4) return;
  const std::string base = old.substr(0, old.find(".r", old.rfind('/')));
  const std::string fresh = base + ".r" + std::to_string(++renewals_);
  if (::mkdir(fresh.c_str(), 0755) != 0) return;
  for (const char* name : {"/memory.limit_in_bytes", "/memory.memsw.limit_in_bytes", "/memory.max", "/memory.swap.max",
                           "/memory.oom.group", "/pids.max", "/cpu.max"}) {
    copy_setting(old, fresh, name);
  }
  is_fresh_ = true;
  if (joined_) move_into(fresh);
  if (clone_into_) clone_into_ = Descriptor(::open(fresh.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  kill_counts_path_ = fresh + kill_counts_path_.substr(old.size());
  kill_counts_ = Descriptor(::open(kill_counts_path_.c_str(), O_RDONLY | O_CLOEXEC));
  for (std::string& folder : folders_) {
    if (folder == old) folder = fresh;
  }
  ::rmdir(old.c_str());
}

void Cgroup::enter(std::vector<std::string> join, const std::string& clone_into, const std::string& kill_counts) {
  folders_ = std::move(join);
  for (const std::string& folder : folders_) move_into(folder);
  joined_ = !folders_.empty();
  if (!clone_into.empty()) {
    clone_into_ = Descriptor(::open(clone_into.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    folders_.push_back(clone_into);
  }
  kill_counts_path_ = kill_counts;
  if (!kill_counts.empty()) kill_counts_ = Descriptor(::open(kill_counts.c_str(), O_RDONLY | O_CLOEXEC));
}

void Cgroup::remove() {
  clone_into_.reset();
  kill_counts_.reset();
  for (const std::string& folder : folders_) {
    if (joined_) move_into(parent_of(folder));
    remove_cgroup_tree(folder);
  }
  folders_.clear();
}

void Cgroup::leave() {
  clone_into_.reset();
  kill_counts_.reset();
  if (std::exchange(joined_, false)) {
    for (const std::string& folder : folders_) move_into(parent_of(folder));
  }
  folders_.clear();
}

std::int64_t Cgroup::oom_kills() const {
  char text[1024];
  const ssize_t size = ::pread(kill_counts_.get(), text, sizeof(text), 0);
  return size <= 0 ? 0 : oom_kills_in({text, static_cast<std::size_t>(size)});
}

std::int64_t oom_kills_in(const std::string& text) {
  // "oom_kill 3", in version 1's memory.oom_control and in version 2's memory.events alike.
  constexpr std::string_view kName = "oom_kill ";
  const std::size_t line = text.find(kName);
  return line == std::string::npos ? 0 : std::atoll(text.c_str() + line + kName.size());
}

}  // namespace drover::slot
