#include "sim/planted.h"

#include <algorithm>

namespace drover::sim {
namespace {

Batch without_last_block(Batch batch) {
  const auto is_block = [](const Mutation& it) { return std::holds_alternative<PutBlock>(it); };
  if (std::ranges::count_if(batch.mutations, is_block) < 2) return batch;
  const auto last = std::ranges::find_if(batch.mutations.rbegin(), batch.mutations.rend(), is_block);
  batch.mutations.erase(std::next(last).base());
  return batch;
}

}  // namespace

Batch as_planted(Batch batch, const SeamPlants& plants) {
  if (plants.store_drops != nullptr) std::erase_if(batch.mutations, plants.store_drops);
  if (plants.plant == SeamPlant::store_forgets_last_block) return without_last_block(std::move(batch));
  return batch;
}

SessionCall as_planted(SessionCall call, SeamPlant plant) {
  auto* poll = std::get_if<PollCall>(&call.what);
  auto* report = std::get_if<ReportCall>(&call.what);
  if (plant == SeamPlant::given_up_not_told && poll != nullptr) poll->poll.given_up.clear();
  if (plant == SeamPlant::returned_token_forgotten) {
    if (poll != nullptr) poll->poll.returned.clear();
    if (report != nullptr) report->report.returned.clear();
  }
  if (plant == SeamPlant::told_twice_differently && report != nullptr) {
    for (EndedAttempt& it : report->report.ended) it.outcome = {Ending::exited, 1, 0, ""};
  }
  return call;
}

Effect as_planted(Effect effect, SeamPlant plant) {
  auto* answer = std::get_if<PollAnswer>(&effect);
  if (answer == nullptr) return effect;
  if (plant == SeamPlant::gone_ignored) answer->gone.clear();
  if (plant == SeamPlant::stop_orders_ignored) answer->stops.clear();
  if (plant == SeamPlant::wrong_attempt_run) {
    for (Lease& lease : answer->leases) lease.attempts.clear();
  }
  if (plant == SeamPlant::asks_not_told) {
    for (Lease& lease : answer->leases) lease.ask = {};
  }
  return effect;
}

}  // namespace drover::sim
