#include "sim/planted.h"

#include <algorithm>

namespace drover::sim {
namespace {

template <class Kind>
Batch without(Batch batch) {
  std::erase_if(batch.mutations, [](const Mutation& it) { return std::holds_alternative<Kind>(it); });
  return batch;
}

Batch without_last_block(Batch batch) {
  const auto is_block = [](const Mutation& it) { return std::holds_alternative<PutBlock>(it); };
  if (std::ranges::count_if(batch.mutations, is_block) < 2) return batch;
  const auto last = std::ranges::find_if(batch.mutations.rbegin(), batch.mutations.rend(), is_block);
  batch.mutations.erase(std::next(last).base());
  return batch;
}

}  // namespace

Batch as_planted(const Batch& batch, SeamPlant plant) {
  switch (plant) {
    case SeamPlant::store_drops_counters: return without<PutCounters>(batch);
    case SeamPlant::store_drops_jobs: return without<PutJob>(batch);
    case SeamPlant::store_drops_blocks: return without<PutBlock>(batch);
    case SeamPlant::store_drops_open_items: return without<PutOpenItem>(batch);
    case SeamPlant::store_drops_deleted_items: return without<DeleteOpenItem>(batch);
    case SeamPlant::store_drops_grants: return without<PutGrant>(batch);
    case SeamPlant::store_drops_deleted_grants: return without<DeleteGrant>(batch);
    case SeamPlant::store_drops_workers: return without<PutWorker>(batch);
    case SeamPlant::store_drops_attempts: return without<AddAttempt>(batch);
    case SeamPlant::store_drops_unsettling: return without<UnsettleAttempt>(batch);
    case SeamPlant::store_drops_deleted_jobs: return without<DeleteJob>(batch);
    case SeamPlant::store_drops_queues: return without<PutQueue>(batch);
    case SeamPlant::store_drops_shares: return without<PutShare>(batch);
    case SeamPlant::store_forgets_last_block: return without_last_block(batch);
    default: return batch;
  }
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
