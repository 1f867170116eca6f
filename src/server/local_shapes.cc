#include "server/local_shapes.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "wire/shapes/machine_type.h"

namespace drover {
namespace {

Resources cut_to(const Resources& here, const MachineType& type) {
  Resources out{std::min(here.milli_cpus, 1000 * static_cast<std::uint64_t>(type.vcpus)),
                std::min(here.memory_bytes, static_cast<std::uint64_t>(type.memory_mib) << 20),
                {}};
  if (type.accelerator != nullptr) {
    const std::size_t kind = type.accelerator->kind == AcceleratorKind::gpu ? kNvidia : kNeuron;
    out.accelerators[kind] = std::min(here.accelerators[kind], static_cast<std::uint64_t>(type.accelerators));
  }
  return out;
}

}  // namespace

std::vector<Shape> local_shapes(const Resources& here, const std::vector<std::string>& named) {
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
  for (const std::string& name : named) {
    const bool is_known = std::ranges::find(out, name, &Shape::name) != out.end();
    const MachineType* type = is_known ? nullptr : find_machine_type(name);
    if (type != nullptr) out.push_back({name, cut_to(here, *type)});
  }
  return out;
}

}  // namespace drover
