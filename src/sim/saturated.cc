#include "sim/saturated.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/text.h"
#include "sim/happenings/jobs.h"
#include "sim/happenings/queues.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

constexpr double kFairWithin = 0.03;

}  // namespace

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

std::optional<std::string> unfair_share(const Script& script, const std::map<std::uint64_t, std::int64_t>& cpu_ms) {
  Queue queue;
  std::map<std::uint64_t, double> due;
  std::int64_t longest_ms = 0;
  for (const ScriptEvent& event : script.events) {
    if (const auto* change = event.what.as<ChangeQueue>()) queue = change->queue;
    const auto* it = event.what.as<Submit>();
    if (it == nullptr) continue;
    longest_ms = std::max(longest_ms, it->nature.typical_ms);
    const auto weight = std::ranges::find(queue.weights, it->place.share, &ShareWeight::share);
    due[it->job] = 1.0 / (weight == queue.weights.end() ? ShareWeight::kOne : weight->weight);
  }
  double all_due = 0;
  double all_had = 0;
  for (const auto& [job, part] : due) all_due += part;
  for (const auto& [job, ms] : cpu_ms) all_had += static_cast<double>(ms);
  // The first item of each slot is handed out before it is known how long those of a share take, and by the time a
  // share has had more than its due of these, part of that is forgotten.
  double first_items_ms = 0;
  for (const WorkerPlan& worker : script.workers)
    first_items_ms += static_cast<double>(worker.slots) * static_cast<double>(longest_ms);
  for (const auto& [job, part] : due) {
    const double had = static_cast<double>(cpu_ms.at(job)) / all_had;
    if (std::abs(had - part / all_due) <= kFairWithin * part / all_due + first_items_ms / all_had) continue;
    return concat("the share of job ", job, " has had another part than its due of the machines (",
                  std::lround(1000 * had), " instead of ", std::lround(1000 * part / all_due), " thousandths)");
  }
  return std::nullopt;
}

}  // namespace drover::sim
