#include "sim/script_draft.h"

#include "sim/times.h"

namespace drover::sim {

ScriptDraft::ScriptDraft(std::uint64_t seed, std::int64_t hours) : random(seed) {
  script.seed = seed;
  script.length_ms = hours * kHour;
  write_workers();
  if (seed % 2 != 0) return;
  crowd.emplace(seed);
  crowd->equip(script.workers, script.length_ms);
  sized = true;
}

void ScriptDraft::write_workers() {
  const std::size_t count = random.one_in(3) ? 1 + random.below(12) : 1 + random.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    script.workers.push_back(
        {.slots = 1 + random.below(8), .strict_lease = random.one_in(4), .clock_ahead_ms = between(-5000, 5000)});
    script.workers.back().names_what_it_returns = random.one_in(6);
  }
  sized = random.one_in(2);
  for (WorkerPlan& worker : script.workers) {
    if (!sized) continue;
    worker.has = {500 * (1 + random.below(16)), (1 + random.below(64)) << 30};
    if (random.one_in(2)) worker.labels["zone"] = random.one_in(2) ? "a" : "b";
    if (random.one_in(3)) worker.labels["gpu"] = "";
  }
}

}  // namespace drover::sim
