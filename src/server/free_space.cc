#include "server/free_space.h"

#include <sys/statvfs.h>

#include <chrono>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace drover {

namespace {

// Little can be written meanwhile, beside what is kept free.
constexpr std::int64_t kGoodForNs = 5'000'000;
constexpr std::uint64_t kLittleBytes = std::uint64_t{1} << 20;

}  // namespace

// Where it cannot be told, as much as anybody wants.
std::uint64_t FreeSpace::free_now(std::uint64_t bytes) const {
  const std::int64_t now_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  if (bytes <= kLittleBytes && now_ns < seen_->at_ns.load(std::memory_order_acquire) + kGoodForNs) return seen_->free;
  struct statvfs disk{};
  if (::statvfs(folder_.c_str(), &disk) != 0) return std::numeric_limits<std::uint64_t>::max();
  seen_->free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  seen_->at_ns.store(now_ns, std::memory_order_release);
  return seen_->free;
}

Result<void> FreeSpace::check(std::uint64_t bytes) const {
  if (mark_ == 0) return {};
  const std::uint64_t free = free_now(bytes);
  if (free >= bytes && free - bytes >= mark_) return {};
  return fail(ErrorCode::no_space,
              concat("the server's disk has ", format_size(free), " free; ", format_size(mark_), " is reserved for ",
                     kept_for_),
              "free some space there, or restart the server with a lower --min-free");
}

}  // namespace drover
