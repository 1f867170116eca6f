#include "provide/shape_flags.h"

#include "base/text.h"

namespace drover {
namespace {

std::string cpus_text(std::uint64_t milli_cpus) {
  std::string fraction = std::to_string(1000 + milli_cpus % 1000).substr(1);
  return concat(milli_cpus / 1000, ".", fraction);
}

}  // namespace

std::vector<std::string> shape_flags(const MachineOrder& order) {
  std::vector<std::string> words = {"--cpus", cpus_text(order.has.milli_cpus)};
  if (order.has.memory_bytes > 0) {
    words.insert(words.end(), {"--memory", std::to_string(order.has.memory_bytes)});
  }
  // Unless it is told, it offers all GPUs that there are.
  words.insert(words.end(), {"--gpus", std::to_string(order.has.accelerators[0])});
  for (std::size_t kind = 1; kind < kAccelerators; ++kind) {
    if (order.has.accelerators[kind] == 0) continue;
    words.insert(words.end(), {"--accelerator", concat(kAcceleratorNames[kind], "=", order.has.accelerators[kind])});
  }
  for (const auto& [name, value] : order.labels) words.insert(words.end(), {"--label", concat(name, "=", value)});
  return words;
}

}  // namespace drover
