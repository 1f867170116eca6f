// A script in words, for people.
#include "base/text.h"
#include "sim/script.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

std::string clock_text(std::int64_t ms) {
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::int64_t rest = ms % 1000;
  return concat(two(ms / kHour), ":", two(ms / kMinute % 60), ":", two(ms / kSecond % 60), ".", rest < 100 ? "0" : "",
                two(rest));
}

}  // namespace

std::string describe(const Resources& resources, const Labels& labels) {
  std::string out;
  if (resources != Resources{} && resources != Resources::endless()) {
    out += concat(", ", resources.milli_cpus, " mCPU, ", resources.memory_bytes, " B");
    for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
      if (resources.accelerators[kind] > 0)
        out += concat(", ", resources.accelerators[kind], " ", kAcceleratorNames[kind]);
    }
  }
  for (const auto& [name, value] : labels) out += concat(", ", name, "=", value);
  return out;
}

std::string describe(const ScriptEvent& event) {
  return clock_text(event.at_ms) + "  " + event.what.describe();
}

std::string describe(const Script& script) {
  std::string out = concat("seed ", script.seed, ", ", script.workers.size(), " workers with slots");
  for (const WorkerPlan& worker : script.workers)
    out += concat(" ", worker.slots, worker.strict_lease ? "(strict)" : "", describe(worker.has, worker.labels),
                  worker.joins_ms > 0 ? concat(" (joins at ", clock_text(worker.joins_ms), ")") : std::string());
  out += '\n';
  for (const ScriptEvent& event : script.events) out += "  " + describe(event) + "\n";
  return out;
}

}  // namespace drover::sim
