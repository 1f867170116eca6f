// A store whose commits are measured, if they succeed; all else goes through.
#pragma once

#include <functional>

#include "ports/clock.h"
#include "ports/store.h"

namespace drover {

class MeasuredStore : public Store {
 public:
  using Measured = std::function<void(double seconds, const Batch& batch)>;

  MeasuredStore(Store& store, SteadyClock& clock, Measured measured)
      : store_(store), clock_(clock), measured_(std::move(measured)) {}

  Result<void> load(const std::function<Result<void>(const Mutation&)>& take) override { return store_.load(take); }
  Result<void> commit(const Batch& batch) override {
    const std::int64_t begun_ns = clock_.elapsed_ns();
    auto done = store_.commit(batch);
    if (done) measured_(static_cast<double>(clock_.elapsed_ns() - begun_ns) / 1e9, batch);
    return done;
  }
  Result<DefinitionId> add_definition(std::string_view text) override { return store_.add_definition(text); }
  Result<ManifestId> begin_manifest() override { return store_.begin_manifest(); }
  Result<void> add_chunks(ManifestId manifest, const std::vector<ManifestChunk>& chunks) override {
    return store_.add_chunks(manifest, chunks);
  }
  Result<void> end_manifest(ManifestId manifest, const ManifestInfo& info, Lasting lasting) override {
    return store_.end_manifest(manifest, info, lasting);
  }
  void drop_manifest(ManifestId manifest) override { store_.drop_manifest(manifest); }
  Result<ManifestInfo> claim_manifest(ManifestId manifest) override { return store_.claim_manifest(manifest); }
  Result<void> drop_unused(std::int64_t now_ms, std::int64_t unused_ms) override {
    return store_.drop_unused(now_ms, unused_ms);
  }
  Result<bool> drop_old_attempts(std::int64_t ended_by_ms, std::uint64_t rows) override {
    return store_.drop_old_attempts(ended_by_ms, rows);
  }
  Result<bool> sweep_deleted(std::uint64_t rows) override { return store_.sweep_deleted(rows); }

 private:
  Store& store_;
  SteadyClock& clock_;
  const Measured measured_;
};

}  // namespace drover
