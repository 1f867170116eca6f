#include "server/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace drover {
namespace {

constexpr rlim_t kOwnAtLeast = 200;

}  // namespace

std::size_t connections_within_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t own = std::max(kOwnAtLeast, limit.rlim_cur / 4);
  return limit.rlim_cur > own ? static_cast<std::size_t>(limit.rlim_cur - own) : 1;
}

}  // namespace drover
