#include "core/state.h"

#include "core/record_hash.h"

namespace drover {

Result<void> Durable::restore(const Mutation& mutation) {
  return std::visit(
      [this](const auto& put) -> Result<void> {
        using Put = std::remove_cvref_t<decltype(put)>;
        if constexpr (std::is_same_v<Put, PutCounters>) {
          counters = put.counters;
          return {};
        } else if constexpr (requires { JobRecords::restore(put); }) {
          return JobRecords::restore(put);
        } else if constexpr (requires { WorkerRecords::restore(put, *this); }) {
          return WorkerRecords::restore(put, *this);
        } else if constexpr (requires { CatalogRecords::restore(put); }) {
          return CatalogRecords::restore(put);
        } else if constexpr (requires { ShareRecords::restore(put); }) {
          return ShareRecords::restore(put);
        } else {
          return contradicts_itself("the store loaded an unexpected record");
        }
      },
      mutation);
}

bool may_run(const Durable& durable, const Worker& worker, const Job& job) {
  return supply_of(worker).suits(demand_of(job, durable.find_queue(job.place.queue)));
}

std::uint64_t hash(const Durable& durable) {
  Hasher hasher;
  add_record(hasher, durable.counters);
  durable.JobRecords::add_to(hasher);
  durable.WorkerRecords::add_to(hasher);
  durable.CatalogRecords::add_to(hasher);
  durable.ShareRecords::add_to(hasher);
  return hasher.value();
}

}  // namespace drover
