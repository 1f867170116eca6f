// A queue that shares fairly, and more work in each share than all machines can do: who gets how much of them?
#include "base/random.h"
#include "base/text.h"
#include "sim/script.h"
#include "sim/times.h"

namespace drover::sim {

Script make_saturated(std::uint64_t seed, std::int64_t hours) {
  constexpr std::uint32_t kWeights[] = {5'000, 10'000, 20'000, 40'000};
  Random random(seed ^ 0x73617475);
  Script script;
  script.seed = seed;
  script.is_saturated = true;
  script.length_ms = hours * kHour;
  const std::size_t workers = 2 + random.below(3);
  for (std::size_t i = 0; i < workers; ++i) {
    const std::uint64_t cpus = 2 + random.below(7);
    script.workers.push_back({.slots = cpus, .has = {1000 * cpus, 0}});
  }
  Queue queue{.name = "fair", .order = QueueOrder::fair};
  queue.decay_s = random.one_in(2) ? 600 : 3600;
  std::vector<ScriptEvent> cancels;
  std::vector<ScriptEvent> submits;
  const std::uint64_t shares = 2 + random.below(3);
  for (std::uint64_t share = 1; share <= shares; ++share) {
    const std::string name = concat("share-", share);
    queue.weights.push_back({name, kWeights[random.below(4)]});
    Submit submit;
    submit.job = share;
    submit.total = 200'000;
    submit.nature = {.seed = random.next(), .typical_ms = static_cast<std::int64_t>(10'000 + random.below(60'000))};
    submit.ask = {1000, 0};
    submit.place = {"fair", name, 0, ""};
    submits.push_back({0, submit});
    cancels.push_back({script.length_ms, Cancel{share}});
  }
  script.events.push_back({0, ChangeQueue{queue}});
  script.events.insert(script.events.end(), submits.begin(), submits.end());
  script.events.insert(script.events.end(), cancels.begin(), cancels.end());
  return script;
}

}  // namespace drover::sim
