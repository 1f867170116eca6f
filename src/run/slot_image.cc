#include "run/slot_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // since Linux 6.3; the library's headers may be older
#endif

// In slot/slot_image.S.
extern "C" const char drover_slot_image_begin[];
extern "C" const char drover_slot_image_end[];

namespace drover {
namespace {

constexpr const char* kFindMemory =
    "check the free space and the mount options (noexec) of /dev/shm and /tmp, or set TMPDIR";

bool write_program(int file) {
  std::span<const char> rest = slot_program();
  while (!rest.empty()) {
    const ssize_t wrote = ::write(file, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    rest = rest.subspan(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// A nameless executable file in `folder`, or none with errno set.
Descriptor image_in(const std::string& folder) {
  std::string path = folder + "/drover-slot.XXXXXX";
  Descriptor written(::mkostemp(path.data(), O_CLOEXEC));
  if (!written) return {};
  // Reopened for reading, because nothing that is open for writing can be executed.
  Descriptor image;
  struct statvfs mount{};
  if (::fstatvfs(written.get(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
    errno = EACCES;
  } else if (write_program(written.get()) && ::fchmod(written.get(), 0500) == 0) {
    image = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  const int error = errno;
  ::unlink(path.c_str());
  errno = error;
  return image;
}

}  // namespace

std::span<const char> slot_program() {
  return {drover_slot_image_begin, drover_slot_image_end};
}

Result<Descriptor> slot_image_in_memory() {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor image(::memfd_create("drover-slot", flags | MFD_EXEC));
  if (!image && errno == EINVAL) image = Descriptor(::memfd_create("drover-slot", flags));
  if (!image || !write_program(image.get())) {
    return std::unexpected(errno_error(errno, "could not write the slot helper to memory", kFindMemory));
  }
  ::fcntl(image.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return image;
}

Result<Descriptor> slot_image_on_disk() {
  const char* chosen = std::getenv("TMPDIR");
  int error = ENOENT;
  for (const char* folder : {chosen, "/dev/shm", "/tmp", "/var/tmp"}) {
    if (folder == nullptr || *folder == '\0') continue;
    if (Descriptor image = image_in(folder)) return image;
    error = errno;
  }
  return std::unexpected(errno_error(error, "could not write the slot helper to a temporary file", kFindMemory));
}

}  // namespace drover
