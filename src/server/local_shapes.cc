#include "server/local_shapes.h"

#include <array>

#include "base/text.h"

namespace drover {

std::vector<Shape> local_shapes(const Resources& here) {
  constexpr std::array<std::string_view, 4> kNames = {"small", "medium", "large", "xlarge"};
  constexpr std::size_t kMostDoublings = 12;
  std::vector<Shape> out;
  for (std::size_t i = 0; i < kMostDoublings; ++i) {
    const std::uint64_t milli_cpus = std::uint64_t{1000} << i;
    if (milli_cpus > here.milli_cpus) break;
    const std::string name = i < kNames.size() ? std::string(kNames[i]) : concat(std::uint64_t{1} << (i - 3), "xlarge");
    out.push_back({name, {milli_cpus, here.memory_bytes / here.milli_cpus * milli_cpus, {}}});
  }
  out.push_back({"machine", here});
  return out;
}

}  // namespace drover
