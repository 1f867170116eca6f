#include "server/free_space.h"

#include <sys/statvfs.h>

#include "base/text.h"
#include "base/units.h"

namespace drover {

Result<void> FreeSpace::check() const {
  struct statvfs disk{};
  if (mark_ == 0 || ::statvfs(folder_.c_str(), &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free >= mark_) return {};
  return fail(ErrorCode::no_space,
              concat("the server's disk has ", format_size(free), " free, less than the ", format_size(mark_),
                     " that it keeps for running jobs"),
              "free some space there, or start it with a lower --min-free");
}

}  // namespace drover
