// The dynamic linker's cache of an image, which drover-hook reads and rewrites.
#include "accel/ld_cache.h"
#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  auto cache = read_ld_cache(bytes);
  if (!cache) return;
  cache->put_first({{.flags = 0x0303, .name = "libcuda.so.1", .path = "/usr/lib/libcuda.so.1"}});
  const auto again = read_ld_cache(write_ld_cache(*cache));
  DROVER_CHECK(again.has_value(), "what is written is read back");
  DROVER_CHECK(again->entries.size() == cache->entries.size(), "with all its libraries");
}

}  // namespace drover
