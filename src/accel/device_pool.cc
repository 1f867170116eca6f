#include "accel/device_pool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "accel/neuron.h"
#include "accel/nvidia_driver.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

/// A file in a folder that anybody may write to: a link there is not followed, and another user's file not created
/// again, which the kernel may refuse.
Result<Descriptor> open_lock_file(const std::string& path) {
  constexpr int kHow = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (int turn = 0; turn < 2; ++turn) {
    Descriptor file(::open(path.c_str(), kHow));
    if (file || errno != ENOENT) {
      if (file) return file;
      break;
    }
    Descriptor made(::open(path.c_str(), kHow | O_CREAT | O_EXCL, 0666));
    if (made) {
      (void)::fchmod(made.get(), 0666);  // whatever the umask: others lock their devices here too
      return made;
    }
    if (errno != EEXIST) break;
  }
  return std::unexpected(errno_error(errno, concat("cannot open ", path, ", in which accelerators are locked")));
}

/// The lock of a device is a byte of the file. It belongs to the open file, which child processes inherit.
bool lock_device(int file, const std::string& id) {
  Hasher hasher;
  hasher.add(id);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(hasher.value() >> 2);
  lock.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

AcceleratorCounts counts_of(const PoolDevices& devices) {
  AcceleratorCounts out{};
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) out[kind] = devices[kind].size();
  return out;
}

}  // namespace

std::string DevicePool::usual_lock_file() {
  struct stat info{};
  const bool is_for_all = ::stat("/run/lock", &info) == 0 && (info.st_mode & 01777) == 01777;
  return is_for_all ? "/run/lock/drover-devices" : "/dev/shm/drover-devices";
}

std::vector<PoolDevice> visible_gpus(const std::vector<PoolDevice>& all, std::string_view list) {
  std::vector<PoolDevice> out;
  while (!list.empty()) {
    const std::string_view word = trimmed(take_until(list, ','));
    const auto number = parse_number(word);
    const auto found = std::ranges::find_if(all, [&](const PoolDevice& it) {
      return number ? it.index == *number : word.starts_with("GPU-") && it.id.starts_with(word);
    });
    if (found == all.end()) break;
    if (std::ranges::find(out, *found) == out.end()) out.push_back(*found);
  }
  std::ranges::sort(out, {}, &PoolDevice::index);
  return out;
}

Result<DevicePool> DevicePool::find(const AccelSettings& settings) {
  auto places = DriverPlaces::open(settings.driver_root);
  if (!places) return pass(places);
  PoolDevices devices;
  for (const NvidiaGpu& gpu : find_nvidia_driver(*places).gpus) {
    devices[kNvidia].push_back({.id = gpu.uuid, .index = gpu.index});
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    devices[kNvidia] = visible_gpus(devices[kNvidia], visible);
  }
  for (const std::uint32_t number : find_neuron_devices(*places)) {
    devices[kNeuron].push_back(
        {.id = concat("neuron", number), .index = number, .cores = neuron_cores(*places, number)});
  }
  return DevicePool(std::move(devices));
}

AcceleratorCounts DeviceGrant::counts() const {
  return counts_of(devices);
}

AcceleratorCounts DevicePool::counts() const {
  return counts_of(devices_);
}

Result<std::optional<DeviceGrant>> DevicePool::take(const AcceleratorCounts& wanted,
                                                    const std::map<std::string, std::string>& broken) const {
  return take_those(wanted, [&](const PoolDevice& it) { return !broken.contains(it.id); });
}

Result<std::optional<DeviceGrant>> DevicePool::take_gpu(const std::string& id) const {
  AcceleratorCounts one{};
  one[kNvidia] = 1;
  return take_those(one, [&](const PoolDevice& it) { return it.id == id; });
}

Result<std::optional<DeviceGrant>> DevicePool::take_those(const AcceleratorCounts& wanted,
                                                          const MayTake& may_take) const {
  auto file = open_lock_file(lock_file_);
  if (!file) return pass(file);
  DeviceGrant grant{.devices = {}, .lock = std::move(*file)};
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    for (const PoolDevice& device : devices_[kind]) {
      if (grant.devices[kind].size() == wanted[kind]) break;
      if (may_take(device) && lock_device(grant.lock.get(), device.id)) grant.devices[kind].push_back(device);
    }
    // What was locked is free again when the file is closed.
    if (grant.devices[kind].size() < wanted[kind]) return std::optional<DeviceGrant>();
  }
  // Somebody may have removed the file meanwhile, and others lock devices in another one.
  struct stat locked{}, named{};
  const bool is_the_file = ::fstat(grant.lock.get(), &locked) == 0 && ::stat(lock_file_.c_str(), &named) == 0 &&
                           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  if (!is_the_file) return std::optional<DeviceGrant>();
  return std::optional<DeviceGrant>(std::move(grant));
}

}  // namespace drover
