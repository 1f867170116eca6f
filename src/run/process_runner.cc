#include "run/process_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "run/descendants.h"
#include "run/live_helpers.h"
#include "run/process_slot.h"
#include "run/slot_image.h"
#include "run/slot_protocol.h"

namespace drover {
namespace {

constexpr const char* kRaiseLimits =
    "raise the limits on open files and processes (ulimit -n, ulimit -u), or use fewer slots";

std::unexpected<Error> could_not_open(int error) {
  return std::unexpected(errno_error(error, "could not open a slot", kRaiseLimits));
}

/// What a helper is born with; all numbered above those that it will know them by.
struct HelperDescriptors {
  Descriptor null;
  Descriptor input;
  Descriptor socket;
  Descriptor hold;
  Descriptor device_lock;

  bool complete() const { return null && input && socket && hold && device_lock; }
};

Descriptor raised_copy(int number) {
  return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, kSlotDeviceLock + 1));
}

/// The new process, or a negative errno. posix_spawn never copies our memory and is safe beside other threads.
pid_t spawn_helper(int image, const HelperDescriptors& given) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, given.input.get(), STDIN_FILENO);
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_adddup2(&actions, given.null.get(), number);
  }
  posix_spawn_file_actions_adddup2(&actions, given.socket.get(), kSlotSocket);
  posix_spawn_file_actions_adddup2(&actions, given.hold.get(), kSlotHold);
  posix_spawn_file_actions_adddup2(&actions, given.device_lock.get(), kSlotDeviceLock);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);

  const std::string path = "/proc/self/fd/" + std::to_string(image);
  char name[] = "drover-slot";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -error;
}

/// A file that was just written cannot be executed while another thread's new process, not yet become its program,
/// still has a copy of the descriptor that it was written through. That passes.
pid_t spawn_helper_patiently(int image, const HelperDescriptors& given) {
  pid_t pid = spawn_helper(image, given);
  for (int turn = 0; pid == -ETXTBSY && turn < 100; ++turn) {
    ::poll(nullptr, 0, 1);
    pid = spawn_helper(image, given);
  }
  return pid;
}

}  // namespace

ProcessRunner::ProcessRunner(std::string containers) : containers_(std::move(containers)) {
  become_subreaper();
  if (!containers_.empty()) leftovers_ = ContainerHome::sweep(containers_);
}

Result<ContainerBox> ProcessRunner::make_box(const SlotSetup& setup) {
  if (!setup.container) return ContainerBox();
  if (!home_) {
    auto home = ContainerHome::make(containers_, leftovers_);
    if (!home) return pass(home);
    home_ = std::move(*home);
  }
  return ContainerBox::make(setup, cgroups_, *home_);
}

Result<void> ProcessRunner::next_image() {
  const bool in_memory = image_place_ == ImagePlace::none;
  image_place_ = in_memory ? ImagePlace::memory : ImagePlace::disk;
  Result<Descriptor> image = in_memory ? slot_image_in_memory() : slot_image_on_disk();
  if (!image && in_memory) return next_image();
  if (!image) return pass(image);
  image_ = raised_copy(image->get());
  if (!image_) return could_not_open(errno);
  return {};
}

Result<std::unique_ptr<Slot>> ProcessRunner::open_slot(const SlotSetup& setup) {
  if (!image_) {
    if (Result<void> made = next_image(); !made) return pass(made);
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return could_not_open(errno);
  Descriptor our_end(ends[0]);
  const Descriptor their_end(ends[1]);
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return std::unexpected(errno_error(errno, "could not open /dev/null", kRaiseLimits));
  const auto or_null = [&](int descriptor) { return raised_copy(descriptor >= 0 ? descriptor : null.get()); };
  const HelperDescriptors given{raised_copy(null.get()), or_null(setup.input_descriptor), raised_copy(their_end.get()),
                                or_null(setup.hold_descriptor), or_null(setup.device_lock)};
  if (!given.complete()) return could_not_open(errno);

  auto box = make_box(setup);
  if (!box) return pass(box);
  // What runs in a container is held by the container's own cgroups, and without these as far as each process can be.
  Enforcement enforcement;
  if (!*box) enforcement = enforce(setup.limits, cgroups_, slots_opened_++);
  if (*box && !box->has_cgroup()) enforcement = enforce_inside(setup.limits, slots_opened_++);
  LiveHelpers& helpers = LiveHelpers::of_this_process();
  for (;;) {
    const pid_t pid = helpers.add([&] { return spawn_helper_patiently(image_.get(), given); });
    if (pid > 0) {
      return std::make_unique<ProcessSlot>(pid, std::move(our_end), setup, std::move(enforcement), std::move(*box));
    }
    const bool may_be_forbidden = pid == -EACCES || pid == -EPERM;
    if (!may_be_forbidden || image_place_ == ImagePlace::disk) {
      enforcement.cgroup.remove();
      box->remove();
      return std::unexpected(errno_error(-pid, "could not start the slot helper", kRaiseLimits));
    }
    if (Result<void> made = next_image(); !made) {
      enforcement.cgroup.remove();
      box->remove();
      return pass(made);
    }
  }
}

std::string ProcessRunner::limits_by() const {
  switch (cgroups_.version()) {
    case CgroupVersion::none: return "per-process resource limits (no cgroup can be created on this machine)";
    case CgroupVersion::v1: return "cgroup v1";
    case CgroupVersion::v2: return "cgroup v2";
  }
  return {};
}

}  // namespace drover
