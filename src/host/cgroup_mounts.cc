#include "host/cgroup_mounts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>

#include "base/text.h"
#include "host/owner.h"
#include "host/system_files.h"

namespace drover {
namespace {

constexpr const char* kNamePrefix = "drover-";

}  // namespace

bool CgroupMount::has(std::string_view controller) const {
  return std::ranges::find(options, controller) != options.end();
}

std::vector<CgroupMount> cgroup_mounts(const std::string& process) {
  std::vector<CgroupMount> found;
  std::ifstream info(process + "/mountinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split_fields(line.substr(0, dash), ' ');
    const auto after = split_fields(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.empty() || !after[0].starts_with("cgroup")) continue;
    found.push_back({before[3], before[4], after[0] == "cgroup2", split_fields(after.back(), ',')});
  }
  return found;
}

std::string own_cgroup(const std::string& controller, const std::string& process) {
  std::string path;
  bool known = false;
  std::ifstream lines(process + "/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const auto parts = split_fields(line, ':');
    if (parts.size() < 3) continue;
    const auto names = split_fields(parts[1], ',');
    const bool ours = controller.empty() ? parts[0] == "0" : std::ranges::find(names, controller) != names.end();
    if (!ours) continue;
    path = line.substr(line.find(':', line.find(':') + 1) + 1);
    known = true;
  }
  if (!known) return {};
  for (const CgroupMount& mount : cgroup_mounts(process)) {
    const bool fits = controller.empty() ? mount.is_v2 : !mount.is_v2 && mount.has(controller);
    if (!fits) continue;
    // A container may see only its own part of the tree, mounted as if it were all.
    std::string below = path;
    if (mount.root != "/" && below.starts_with(mount.root)) below = below.substr(mount.root.size());
    if (below == "/") below.clear();
    std::string folder = mount.place + below;
    if (::access(folder.c_str(), F_OK) != 0) folder = mount.place;
    return folder;
  }
  return {};
}

bool may_make_cgroup_below(const std::string& folder) {
  errno = ENOENT;
  if (folder.empty()) return false;
  const std::string trial = concat(folder, "/", new_cgroup_name());
  if (::mkdir(trial.c_str(), 0755) != 0) return false;
  ::rmdir(trial.c_str());
  return true;
}

bool hand_controllers_on(const std::string& folder) {
  const std::string path = folder + "/cgroup.subtree_control";
  std::string text = read_system_file(path);
  std::ranges::replace(text, '\n', ' ');
  const auto enabled = split_fields(text, ' ');
  constexpr std::array<std::string_view, 3> kNeeded = {"memory", "pids", "cpu"};
  if (std::ranges::all_of(kNeeded, [&](auto name) { return std::ranges::find(enabled, name) != enabled.end(); })) {
    return true;
  }
  return write_system_file(path, "+memory +pids +cpu");
}

std::string v2_cgroup_parent(const std::string& process) {
  const std::string place = [&] {
    for (const CgroupMount& mount : cgroup_mounts(process)) {
      if (mount.is_v2) return mount.place;
    }
    return std::string();
  }();
  if (place.empty()) return {};
  for (std::string folder = own_cgroup("", process); folder.size() >= place.size();
       folder = folder.substr(0, folder.rfind('/'))) {
    if (may_make_cgroup_below(folder) && hand_controllers_on(folder)) return folder;
    if (folder == place) break;
  }
  return {};
}

SeenCgroup seen_from_root(const std::string& folder, const std::string& process) {
  SeenCgroup best;
  for (const CgroupMount& mount : cgroup_mounts(process)) {
    if (folder.starts_with(mount.place) && mount.place.size() > best.place.size()) {
      best = {mount.place, folder.substr(mount.place.size())};
    }
  }
  return best;
}

std::string new_cgroup_name() {
  static std::atomic<std::uint64_t> number = 0;
  const Owner& us = this_process();
  return concat(kNamePrefix, us.pid, "-", us.started, "-", ++number, "-ns", us.pid_namespace);
}

bool is_cgroup_of_the_dead(const std::string& name) {
  if (!name.starts_with(kNamePrefix)) return false;
  const std::string own_name =
      name.substr(std::string_view(kNamePrefix).size(), name.find(".r") - std::string_view(kNamePrefix).size());
  const auto parts = split_fields(own_name, '-');
  if (parts.size() != 4 || !parts[3].starts_with("ns")) return false;
  return !Owner{parts[0], parts[1], parts[3].substr(2)}.is_alive();
}

}  // namespace drover
