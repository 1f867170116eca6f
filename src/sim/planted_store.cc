#include "sim/planted_store.h"

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
    case SeamPlant::store_drops_grants: return without<PutGrant>(batch);
    case SeamPlant::store_drops_deleted_grants: return without<DeleteGrant>(batch);
    case SeamPlant::store_drops_workers: return without<PutWorker>(batch);
    case SeamPlant::store_drops_attempts: return without<AddAttempt>(batch);
    case SeamPlant::store_drops_unsettling: return without<UnsettleAttempt>(batch);
    case SeamPlant::store_forgets_last_block: return without_last_block(batch);
    default: return batch;
  }
}

}  // namespace drover::sim
