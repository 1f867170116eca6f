#include "core/state.h"

#include "core/record_hash.h"

namespace drover {

Result<void> Durable::restore(const Mutation& mutation) {
  if (const auto* put = std::get_if<PutCounters>(&mutation)) {
    counters = put->counters;
    return {};
  }
  const auto done = std::visit([this](const auto& put) { return restore_put(put); }, mutation);
  return done ? *done : contradicts_itself("the store loaded an unexpected record");
}

bool may_run(const Durable& durable, const Worker& worker, const Job& job) {
  return supply_of(worker).suits(demand_of(job, durable.find_queue(job.place.queue)));
}

std::uint64_t hash(const Durable& durable) {
  Hasher hasher;
  add_record(hasher, durable.counters);
  durable.add_to(hasher);
  return hasher.value();
}

}  // namespace drover
