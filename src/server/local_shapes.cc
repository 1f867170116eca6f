#include "server/local_shapes.h"

#include <array>

#include "base/text.h"

namespace drover {

std::vector<Shape> local_shapes(const Resources& here) {
  constexpr std::array<std::string_view, 4> kNames = {"small", "medium", "large", "xlarge"};
  constexpr std::size_t kMostShapes = 12;
  std::vector<Shape> out;
  for (std::size_t i = 0; i < kMostShapes; ++i) {
    const std::uint64_t milli_cpus = std::uint64_t{1000} << i;
    if (milli_cpus > here.milli_cpus) break;
    const std::string name = i < kNames.size() ? std::string(kNames[i]) : concat(std::uint64_t{1} << (i - 3), "xlarge");
    Shape shape{name, {milli_cpus, here.memory_bytes / here.milli_cpus * milli_cpus, {}}};
    for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
      shape.has.accelerators[kind] = here.accelerators[kind] * milli_cpus / here.milli_cpus;
    }
    out.push_back(std::move(shape));
  }
  out.push_back({"machine", here});
  return out;
}

}  // namespace drover
