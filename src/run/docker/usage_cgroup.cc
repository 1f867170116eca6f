#include "run/docker/usage_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/text.h"
#include "host/cgroup_mounts.h"
#include "host/cgroup_tree.h"
#include "host/owner.h"
#include "host/system_files.h"
#include "ports/descriptor.h"

namespace drover {
namespace {

constexpr std::string_view kPrefix = "drover-docker-";

/// Those that are mounted whole: in another one a daemon's names mean other places.
std::vector<CgroupMount> hierarchies() {
  std::vector<CgroupMount> found = cgroup_mounts();
  std::erase_if(found, [](const CgroupMount& it) { return it.root != "/"; });
  return found;
}

std::string place_of(std::string_view controller, bool is_v2) {
  for (const CgroupMount& one : hierarchies()) {
    if (one.is_v2 != is_v2) continue;
    if (is_v2 || one.has(controller)) return one.place;
  }
  return {};
}

std::int64_t number_in(const std::string& path) {
  std::int64_t number = 0;
  std::ifstream(path) >> number;
  return number;
}

std::int64_t number_of(const std::string& path, std::string_view name) {
  std::ifstream lines(path);
  std::string key;
  for (std::int64_t number = 0; lines >> key >> number;) {
    if (key == name) return number;
  }
  return 0;
}

}  // namespace

UsageCgroup::UsageCgroup(const DockerFacts& facts, const std::string& slot) {
  if (facts.cgroup_driver != "cgroupfs" || facts.is_rootless) return;
  is_v2_ = facts.cgroup_version == "2";
  const std::string memory = place_of("memory", is_v2_);
  const std::string cpu = place_of("cpuacct", is_v2_);
  if (memory.empty() || cpu.empty()) return;
  name_ = concat("/", kPrefix, this_process().name(), ".", slot);
  memory_ = memory + name_;
  cpu_ = cpu + name_;
  for (const std::string& folder : {memory_, cpu_}) {
    if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) continue;
    remove();
    return;
  }
}

UsageCgroup::UsageCgroup(UsageCgroup&& other) noexcept {
  *this = std::move(other);
}

UsageCgroup& UsageCgroup::operator=(UsageCgroup&& other) noexcept {
  if (this == &other) return *this;
  remove();
  name_ = std::exchange(other.name_, {});
  memory_ = std::move(other.memory_);
  cpu_ = std::move(other.cpu_);
  is_v2_ = other.is_v2_;
  before_ = other.before_;
  return *this;
}

void UsageCgroup::begin() {
  if (name_.empty()) return;
  if (::rmdir(memory_.c_str()) == 0) {
    // A fresh one has seen no peak.
    ::mkdir(memory_.c_str(), 0755);
  } else if (!is_v2_) {
    // A warm container is in it.
    const Descriptor peak(::open((memory_ + "/memory.max_usage_in_bytes").c_str(), O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ssize_t wrote = ::write(peak.get(), "0", 1);
  }
  before_ = times();
}

UsageCgroup::Times UsageCgroup::times() const {
  if (is_v2_) {
    const std::string stat = cpu_ + "/cpu.stat";
    return {number_of(stat, "user_usec"), number_of(stat, "system_usec")};
  }
  return {number_in(cpu_ + "/cpuacct.usage_user") / 1'000, number_in(cpu_ + "/cpuacct.usage_sys") / 1'000};
}

void UsageCgroup::add_to(Usage& usage) const {
  if (name_.empty()) return;
  const Times now = times();
  usage.user_us = now.user_us - before_.user_us;
  usage.system_us = now.system_us - before_.system_us;
  usage.peak_memory_kib = number_in(memory_ + (is_v2_ ? "/memory.peak" : "/memory.max_usage_in_bytes")) >> 10;
}

void UsageCgroup::remove() {
  if (name_.empty()) return;
  // A runtime makes its parent in every hierarchy.
  for (const CgroupMount& one : hierarchies()) ::rmdir((one.place + name_).c_str());
  name_.clear();
}

void UsageCgroup::sweep() {
  for (const CgroupMount& one : hierarchies()) {
    for (const std::string& folder : subfolders_of(one.place)) {
      const std::string name = folder.substr(one.place.size() + 1);
      if (!name.starts_with(kPrefix)) continue;
      const std::optional<Owner> owner =
          Owner::from_name(name.substr(kPrefix.size(), name.rfind('.') - kPrefix.size()));
      if (owner && !owner->is_alive()) remove_cgroup_tree(folder);
    }
  }
}

}  // namespace drover
