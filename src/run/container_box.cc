#include "run/container_box.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "host/owner.h"
#include "host/system_files.h"
#include "run/image_user.h"
#include "run/remove_tree.h"
#include "run/seccomp_filter.h"
#include "run/slot_image.h"
#include "run/slot_protocol.h"
#include "run/stop_signal.h"
#include "wire/container_words.h"
#include "wire/oci_spec.h"

namespace drover {
namespace {

constexpr const char* kFindDisk = "use --data with a folder on a disk with free space";

constexpr std::uint32_t kTerminalGroup = 5;

Result<void> write_file(const std::string& path, std::string_view text, mode_t mode = 0644) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  std::size_t done = 0;
  if (file) ::fchmod(file.get(), mode);  // for users inside, whatever our umask is
  while (file && done < text.size()) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (!file || done < text.size()) return std::unexpected(errno_error(errno, path, kFindDisk));
  return {};
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

Result<DeviceNode> find_device(const ContainerDevice& wanted) {
  struct stat info{};
  if (::stat(wanted.host.c_str(), &info) != 0 || (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode))) {
    return fail(ErrorCode::bad_input, concat(wanted.host, " is not a device on this machine"),
                "check --device against the contents of /dev");
  }
  return DeviceNode{wanted,       S_ISBLK(info.st_mode), major(info.st_rdev), minor(info.st_rdev),
                    info.st_mode, info.st_uid,           info.st_gid};
}

DeviceNode device_of(const ContainerEdits::Device& edit) {
  return {.wanted = edit.wanted, .is_block = edit.is_block, .major = *edit.major, .minor = *edit.minor};
}

/// A privileged container sees every device.
std::vector<DeviceNode> all_devices() {
  std::vector<DeviceNode> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string path = entry.path();
    if (entry.is_symlink(ignored) || path == "/dev/console" || path == "/dev/tty" || path == "/dev/ptmx") continue;
    if (auto node = find_device({path, path})) found.push_back(std::move(*node));
  }
  return found;
}

/// Nobody can give what he has not.
CapabilityMask own_capabilities() {
  CapabilityMask mask = 0;
  for (int right = 0; right < 64; ++right) {
    const int has = ::prctl(PR_CAPBSET_READ, right);
    if (has < 0) break;  // there are no more
    if (has > 0) mask |= CapabilityMask{1} << right;
  }
  return mask;
}

/// Inside a user namespace only those are anybody who are mapped.
Result<void> check_user(const ImageUser& user, const UserNamespace& space) {
  if (is_mapped(space.users, user.user) && is_mapped(space.groups, user.group)) return {};
  return fail(ErrorCode::denied,
              concat("containers cannot run as user ", user.user, ":", user.group,
                     " on this machine: drover is not root, and has no subordinate id for it"),
              "add subordinate ids (apt-get install uidmap; usermod --add-subuids 100000-165535 --add-subgids "
              "100000-165535 NAME), or run as root in the container with --user 0");
}

/// What belongs to nobody inside cannot be written there, not even to mount something on it.
Result<void> check_layers(const std::vector<std::string>& layers, const UserNamespace& space) {
  for (const std::string& layer : layers) {
    struct stat info{};
    if (::stat(layer.c_str(), &info) != 0 || is_known_inside(space.users, info.st_uid)) continue;
    return fail(ErrorCode::denied,
                concat(layer, " belongs to user ", info.st_uid, ", which a rootless container cannot map"),
                "make your own copy (cp -r), or run drover as root");
  }
  return {};
}

Result<ContainerPlace> find_place(const SlotSetup& setup, const ContainerOptions& options,
                                  const ContainerCgroup& cgroup, const std::string& folder, const ContainerHome& home) {
  const ContainerPlan& plan = *setup.container;
  ContainerPlace place;
  const std::optional<UserNamespace>& space = home.user_namespace();
  auto user = find_image_user(options.user.empty() ? plan.image.user : options.user, plan.layers);
  if (!user) return pass(user);
  if (space) {
    if (auto checked = check_user(*user, *space); !checked) return pass(checked);
    if (auto checked = check_layers(plan.layers, *space); !checked) return pass(checked);
    std::erase_if(user->groups, [&](std::uint32_t group) { return !is_mapped(space->groups, group); });
    place.is_rootless = true;
    place.has_terminal_group = is_mapped(space->groups, kTerminalGroup);
  }
  place.home = user->home;
  place.user = user->user;
  place.group = user->group;
  place.groups = user->groups;
  auto capabilities = capabilities_of(options);
  if (!capabilities) return pass(capabilities);
  place.capabilities = *capabilities & own_capabilities();
  place.workdir = !setup.workdir.empty() ? setup.workdir : !plan.image.workdir.empty() ? plan.image.workdir : "/";
  place.hostname = options.hostname.empty() ? host_name() : options.hostname;
  place.cgroups_path = cgroup.path;
  place.has_cgroup_v2 = cgroup.is_v2;
  place.first_process = home.first_process();
  place.etc = folder + "/etc";
  place.limits = setup.limits;
  place.has_recursive_attributes = ::syscall(SYS_mount_setattr, -1, "", 0, nullptr, 0) != 0 && errno != ENOSYS;
  place.hooks = plan.edits.hooks;

  for (const auto* mounts : {&options.mounts, &plan.edits.mounts}) {
    for (const ContainerMount& wanted : *mounts) {
      const std::string source = wanted.source.starts_with('/') ? wanted.source : home.volume(wanted.source);
      struct stat info{};
      std::error_code error;
      if (wanted.create) std::filesystem::create_directories(source, error);
      if (::stat(source.c_str(), &info) != 0) {
        if (error) return fail(ErrorCode::io, concat("cannot create ", source, " to mount it: ", error.message()));
        return fail(ErrorCode::bad_input, concat("cannot mount ", source, ": no such file or folder on this machine"),
                    "create it on every machine that runs this job, or mount another path");
      }
      place.mounts.push_back({source, wanted.target, wanted.read_only, S_ISDIR(info.st_mode)});
    }
  }

  if (options.privileged && !space) place.devices = all_devices();
  const auto add = [&](const ContainerDevice& wanted, Result<DeviceNode> node) -> Result<void> {
    if (!node) return pass(node);
    if (space) {  // none can be made there, but those of the machine can be seen
      place.mounts.push_back({wanted.host, wanted.inside, wanted.access.find('w') == std::string::npos, false});
      return {};
    }
    std::erase_if(place.devices, [&](const DeviceNode& it) { return it.wanted.inside == wanted.inside; });
    place.devices.push_back(std::move(*node));
    return {};
  };
  for (const ContainerDevice& wanted : options.devices) {
    if (auto added = add(wanted, find_device(wanted)); !added) return pass(added);
  }
  for (const ContainerEdits::Device& edit : plan.edits.devices) {
    const bool is_known = edit.major && edit.minor && !space;
    if (auto added = add(edit.wanted, is_known ? device_of(edit) : find_device(edit.wanted)); !added)
      return pass(added);
  }
  return place;
}

Result<void> write_etc(const std::string& folder, const ContainerPlace& place, ContainerNetwork network) {
  std::string hosts = network == ContainerNetwork::host ? read_system_file("/etc/hosts") : std::string();
  if (hosts.empty()) hosts = concat("127.0.0.1\tlocalhost\n::1\tlocalhost\n");
  if (network == ContainerNetwork::none) hosts += concat("127.0.0.1\t", place.hostname, "\n");
  if (auto done = write_file(folder + "/hosts", hosts); !done) return done;
  if (auto done = write_file(folder + "/hostname", concat(place.hostname, "\n")); !done) return done;
  return write_file(folder + "/resolv.conf",
                    network == ContainerNetwork::host ? read_system_file("/etc/resolv.conf") : std::string());
}

bool is_inside(const std::string& path, const std::string& outer) {
  return path.size() > outer.size() && path.starts_with(outer) && (outer.back() == '/' || path[outer.size()] == '/');
}

/// What an item of a warm container that is reset finds mounted, outer ones first: in memory anew, the rest (without a
/// type) as the container has it. What lies in something of the container's comes with that, unless memory is between.
std::vector<SpecMount> item_mounts(const ContainerOptions& options, const ContainerPlace& place) {
  std::vector<SpecMount> kept;
  for (const char* each : {"/proc", "/dev", "/sys"}) kept.push_back({each, "", 0, ""});
  for (const char* each : kEtcFiles) kept.push_back({concat("/etc/", each), "", 0, ""});
  for (const PlacedMount& mount : place.mounts) kept.push_back({mount.target, "", 0, ""});
  const std::vector<SpecMount> fresh = memory_mounts(options, place);
  const auto comes_with = [&](const SpecMount& one, const SpecMount& outer) {
    return is_inside(one.place, outer.place) && std::ranges::none_of(fresh, [&](const SpecMount& between) {
             return is_inside(one.place, between.place) && is_inside(between.place, outer.place);
           });
  };
  std::vector<SpecMount> all = fresh;
  for (const SpecMount& one : kept) {
    const auto has_same_place = [&](const SpecMount& it) { return it.place == one.place; };
    const bool is_within = std::ranges::any_of(kept, [&](const SpecMount& it) { return comes_with(one, it); });
    if (!is_within && std::ranges::none_of(all, has_same_place)) all.push_back(one);
  }
  std::ranges::stable_sort(all, {}, [](const SpecMount& it) { return mount_depth(it.place); });
  return all;
}

void put_maps(FrameWriter& frame, const std::vector<IdMap>& maps) {
  frame.put(static_cast<std::uint64_t>(maps.size()));
  for (const IdMap& map : maps) frame.put(map);
}

/// What an item that joins a warm container has to be given, since no runtime does it.
Result<void> put_identity(FrameWriter& frame, const ContainerOptions& options, const ContainerPlace& place) {
  frame.put(place.user);
  frame.put(place.group);
  frame.put(static_cast<std::uint64_t>(place.groups.size()));
  for (const std::uint32_t group : place.groups) frame.put(group);
  frame.put(place.capabilities);
  frame.put(!options.privileged);
  frame.put(options.read_only);
  std::vector<std::pair<int, const ContainerUlimit*>> limits;
  for (const ContainerUlimit& limit : options.ulimits) {
    const auto number = ulimit_number(limit.name);
    if (!number) {
      return fail(ErrorCode::bad_input, concat("unknown ulimit '", limit.name, "'"),
                  "use a name as in --ulimit nofile=1024");
    }
    limits.emplace_back(*number, &limit);
  }
  frame.put(static_cast<std::uint64_t>(limits.size()));
  for (const auto& [which, limit] : limits) {
    frame.put(static_cast<std::int32_t>(which));
    frame.put(limit->soft);
    frame.put(limit->hard);
  }
  std::vector<sock_filter> filter;
  if (options.reuse && !options.privileged) {
    auto made = seccomp_filter(place.capabilities);
    if (!made) return pass(made);
    filter = std::move(*made);
  }
  frame.put(static_cast<std::uint64_t>(filter.size()));
  for (const sock_filter& instruction : filter) frame.put(instruction);
  frame.text(place.workdir);

  const std::vector<SpecMount> mounts = item_mounts(options, place);
  frame.put(static_cast<std::uint64_t>(mounts.size()));
  for (const SpecMount& mount : mounts) {
    frame.text(mount.place);
    frame.text(mount.type);
    frame.put(mount.flags);
    frame.text(mount.options);
  }
  return {};
}

Result<std::string> link_layers(const std::string& folder, const std::vector<std::string>& layers) {
  std::string lower;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = concat("l/", i);
    if (::symlink(layers[i].c_str(), concat(folder, "/", name).c_str()) != 0) {
      return std::unexpected(errno_error(errno, folder, kFindDisk));
    }
    lower += concat(i == 0 ? "" : ":", name);
  }
  return lower;
}

/// What belongs to processes that are gone.
std::vector<std::string> left_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    const auto owner = Owner::from_name(name);
    if (name.starts_with(kRemovedStem) || (owner && !owner->is_alive())) left.push_back(entry.path());
  }
  return left;
}

}  // namespace

ContainerHome::ContainerHome(std::string folder)
    : all_(std::move(folder)),
      ours_(concat(all_, "/", this_process().name())),
      first_process_(ours_ + "/drover-init") {}

std::vector<std::string> ContainerHome::sweep(const std::string& folder) {
  for (const std::string& each : left_in(folder)) remove_tree(each);
  return left_in(folder);
}

Result<std::unique_ptr<ContainerHome>> ContainerHome::make(const std::string& folder,
                                                           std::vector<std::string> leftovers) {
  std::unique_ptr<ContainerHome> home(new ContainerHome(folder));
  home->leftovers_ = std::move(leftovers);
  if (!may_mount()) {
    auto space = find_user_namespace();
    if (!space) return pass(space);
    home->user_namespace_ = std::move(*space);
  }
  std::error_code error;
  std::filesystem::create_directories(home->ours_, error);
  if (error) return std::unexpected(errno_error(error.value(), home->ours_, kFindDisk));
  ::chmod(folder.c_str(), 0700);  // there will be other people's setuid programs in it
  const std::span<const char> program = slot_program();
  if (auto done = write_file(home->first_process_, {program.data(), program.size()}, 0755); !done) return pass(done);
  return home;
}

ContainerHome::~ContainerHome() {
  remove_tree(ours_);
}

std::string ContainerHome::new_folder() {
  return concat(ours_, "/", ++slots_);
}

std::string ContainerHome::volume(const std::string& name) const {
  std::string folder = concat(all_, "/volumes/", name);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

Result<ContainerBox> ContainerBox::make(const SlotSetup& setup, const Cgroups& cgroups, ContainerHome& home) {
  const ContainerPlan& plan = *setup.container;
  auto runtime = find_oci_runtime(plan.options.runtime);
  if (!runtime) return pass(runtime);
  ContainerBox box;
  box.cgroup_ = cgroups.for_container();
  if (!box.has_cgroup() && !home.user_namespace()) {
    return fail(ErrorCode::denied, "cannot run containers on this machine: no cgroup can be created for them",
                "run the worker as root, or under systemd with Delegate=yes");
  }
  box.folder_ = home.new_folder();
  auto filled = box.fill(setup, *runtime, home);
  if (!filled) {
    box.remove();
    return pass(filled);
  }
  return box;
}

Result<void> ContainerBox::fill(const SlotSetup& setup, const OciRuntime& runtime, const ContainerHome& home) {
  const ContainerPlan& plan = *setup.container;
  ContainerOptions options = plan.options;
  // To bring an item into another's container, and to clear up behind it, takes more than that.
  if (home.user_namespace()) options.reuse = false;
  for (const char* name : {"", "/rootfs", "/itemroot", "/scratch", "/state", "/etc", "/l"}) {
    if (::mkdir((folder_ + name).c_str(), 0755) != 0) {
      return std::unexpected(errno_error(errno, folder_ + name, kFindDisk));
    }
  }
  if (options.disk_bytes > 0) {
    auto quota = ProjectQuota::hold(folder_ + "/scratch", options.disk_bytes);
    if (!quota) return pass(quota);
    quota_ = *quota;
  }
  auto place = find_place(setup, options, cgroup_, folder_, home);
  if (!place) return pass(place);
  home_ = place->home;
  if (auto done = write_etc(place->etc, *place, options.network); !done) return pass(done);
  if (auto done = write_file(folder_ + "/config.json", oci_spec(options, *place)); !done) return pass(done);
  auto lower = link_layers(folder_, plan.layers);
  if (!lower) return pass(lower);

  {
    FrameWriter frame(frame_, FrameKind::container);
    frame.text(runtime.path);
    frame.text(folder_);
    frame.text(*lower);
    frame.text(runtime.is_crun ? cgroup_.unified : std::string());
    frame.put(runtime.is_crun);
    frame.put(options.reuse);
    frame.put(options.init);
    frame.put(cgroup_.is_v2);
    frame.put(options.reset);
    frame.put(options.reuse_limit);
    frame.put(static_cast<std::int32_t>(stop_signal_of(plan.image)));
    frame.texts(cgroup_.folders);
    frame.texts(cgroup_.join);
    frame.text(cgroup_.clone_into);
    frame.text(cgroup_.kill_counts);
    frame.text(cgroup_.members);
    const UserNamespace space = home.user_namespace().value_or(UserNamespace{});
    put_maps(frame, space.users);
    put_maps(frame, space.groups);
    frame.text(space.map_users);
    frame.text(space.map_groups);
    frame.texts(home.leftovers());
    if (auto done = put_identity(frame, options, *place); !done) return pass(done);
  }
  return {};
}

void ContainerBox::remove() {
  if (folder_.empty()) return;
  cgroup_.remove();
  quota_.release(folder_ + "/scratch");
  remove_tree(std::exchange(folder_, {}));
}

}  // namespace drover
