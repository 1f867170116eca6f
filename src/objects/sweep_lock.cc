#include "objects/sweep_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "base/text.h"

namespace drover {

Result<SweepLock> SweepLock::take(const std::string& folder, int how) {
  Descriptor it(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!it) return std::unexpected(errno_error(errno, folder));
  while (::flock(it.get(), how) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return fail(ErrorCode::in_use, concat("the files in ", folder, " are being copied"));
    return std::unexpected(errno_error(errno, folder));
  }
  return SweepLock(std::move(it));
}

Result<SweepLock> SweepLock::keep_files(const std::string& folder) {
  return take(folder, LOCK_SH);
}

Result<SweepLock> SweepLock::remove_files(const std::string& folder) {
  return take(folder, LOCK_EX | LOCK_NB);
}

}  // namespace drover
