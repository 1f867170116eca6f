// The core's state, in two named parts. Durable comes back from the store after a crash, exactly; volatile is made
// anew from it, and what it held beyond that (parked polls, renewals) is allowed to be forgotten. Each is the sum of
// what the parts of the core own; only its owner changes a piece of it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "core/catalog/catalog.h"
#include "core/fleets/fleets.h"
#include "core/jobs/jobs.h"
#include "core/mutation.h"
#include "core/schedule/places.h"
#include "core/streams/streams.h"
#include "core/workers/workers.h"

namespace drover {

/// A sum of slices, each of which one part of the core owns. A slice restores the records that it knows, and adds them
/// to the hash.
template <class... Slices>
struct SumOf : Slices... {
  /// Nothing: no slice knows it.
  template <class Put>
  std::optional<Result<void>> restore_put(const Put& put) {
    std::optional<Result<void>> done;
    (void)((done = restore_in<Slices>(put), done.has_value()) || ...);
    return done;
  }
  void add_to(Hasher& hasher) const { (Slices::add_to(hasher), ...); }

 private:
  template <class Slice, class Put>
  std::optional<Result<void>> restore_in(const Put& put) {
    if constexpr (requires { Slice::restore(put); }) {
      return Slice::restore(put);
    } else if constexpr (requires { Slice::restore(put, *this); }) {
      return Slice::restore(put, *this);
    } else {
      return std::nullopt;
    }
  }
};

struct Durable : SumOf<JobRecords, WorkerRecords, ShareRecords, CatalogRecords, StreamRecords, FleetRecords> {
  Counters counters;

  /// Takes back one put that a store has kept. An error means that the stored state contradicts itself.
  Result<void> restore(const Mutation& mutation);
};

/// Whether the worker may be given the job's items: it has what they ask for, and serves the job's queue.
bool may_run(const Durable& durable, const Worker& worker, const Job& job);

/// The one hash of durable state: equal hashes, equal state.
std::uint64_t hash(const Durable& durable);

struct Volatile : JobsNow, WorkersNow, PlacesNow, StreamIndexes, FleetIndexes {};

}  // namespace drover
