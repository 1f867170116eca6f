// The store's twin in memory, for tests and the simulator. It keeps nothing but encoded rows, as a real one would, so
// what does not survive encoding does not survive here either.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ports/store.h"
#include "store/memory_rows.h"

namespace drover {

class MemoryStore : public Store, public StoreReader {
 public:
  Result<void> load(const std::function<Result<void>(const Mutation&)>& take) override;
  Result<void> commit(const Batch& batch) override;
  Result<DefinitionId> add_definition(std::string_view text) override;
  Result<ManifestId> begin_manifest() override;
  Result<void> add_chunks(ManifestId manifest, const std::vector<ManifestChunk>& chunks) override;
  Result<void> end_manifest(ManifestId manifest, const ManifestInfo& info, Lasting lasting) override;
  void drop_manifest(ManifestId manifest) override;
  Result<ManifestInfo> claim_manifest(ManifestId manifest) override { return this->manifest(manifest); }
  Result<void> drop_unused(std::int64_t /*it is*/, std::int64_t /*not worth it*/) override { return {}; }
  Result<bool> drop_old_attempts(std::int64_t /*it keeps all*/, std::uint64_t /*rows*/) override { return false; }
  Result<bool> sweep_deleted(std::uint64_t /*nothing is ever left*/) override { return false; }

  Result<std::vector<Job>> jobs() override;
  Result<Job> job(JobId id) override;
  Result<std::vector<EndedAt>> jobs_ended_by(std::int64_t ended_by_ms, EndedAt after, std::uint64_t limit) override;
  Result<bool> has_job_created_by(std::int64_t created_by_ms) override;
  Result<std::vector<Worker>> workers() override;
  Result<std::string> worker_name(WorkerId id) override;
  Result<std::vector<Queue>> queues() override;
  Result<std::vector<ShareRecord>> shares() override;
  Result<std::vector<NamedDefinition>> named_definitions() override;
  Result<std::vector<Fleet>> fleets() override;
  Result<std::vector<Machine>> machines() override;
  Result<std::vector<Document>> documents(const std::string& kind) override;
  Result<std::optional<Document>> document(const std::string& kind, const std::string& name) override;
  Result<std::vector<Account>> accounts() override;
  Result<std::vector<Stream>> streams() override;
  Result<std::optional<Stream>> stream(const std::string& name) override;
  Result<std::optional<std::string>> message(MessageNumber message) override;
  Result<void> each_item_message(JobId job, ItemSpan items,
                                 const std::function<bool(ItemIndex item, std::string content)>& take) override;
  Result<std::optional<DeadLetter>> dead_letter(MessageNumber message) override;
  Result<void> each_event(EventId after, const std::function<bool(const Event&)>& take) override;
  Result<EventId> newest_event() override;
  Result<std::string> definition(DefinitionId id) override;
  Result<ManifestInfo> manifest(ManifestId id) override;
  Result<ManifestChunk> chunk(ManifestId manifest, ItemIndex item) override;
  Result<std::vector<Attempt>> settled_by(JobId job, AttemptOrder order, std::uint64_t skip,
                                          std::uint64_t limit) override;
  Result<std::vector<FailedAlike>> failures(JobId job) override;
  Result<void> each_block(JobId job, ItemSpan items, const std::function<void(const BlockRecord&)>& take) override;
  Result<std::optional<Grant>> grant(GrantId id) override;
  Result<void> each_open_item(JobId job, ItemSpan items, const std::function<void(const OpenItem&)>& take) override;
  Result<void> each_attempt(JobId job, ItemIndex from, const std::function<bool(const Attempt&)>& take) override;

 private:
  struct Writer;

  MemoryRows rows_;
  std::map<MessageNumber, std::string> contents_;  // of messages
  std::map<DefinitionId, std::string> definitions_;
  std::uint64_t last_manifest_ = 0;
  std::map<ManifestId, ManifestInfo> manifests_;  // those that were ended
  std::map<std::pair<ManifestId, ItemIndex>, ManifestChunk> chunks_;
};

}  // namespace drover
