#include "server/free_space.h"

#include <sys/statvfs.h>

#include "base/text.h"
#include "base/units.h"

namespace drover {

Result<void> FreeSpace::check(std::uint64_t bytes) const {
  struct statvfs disk{};
  if (mark_ == 0 || ::statvfs(folder_.c_str(), &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free >= bytes && free - bytes >= mark_) return {};
  return fail(ErrorCode::no_space,
              concat("the server's disk has ", format_size(free), " free; ", format_size(mark_), " is reserved for ",
                     kept_for_),
              "free some space there, or restart the server with a lower --min-free");
}

}  // namespace drover
