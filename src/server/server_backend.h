// The server behind its faces: the engine, the ledger's readers, lists of items and logs.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "engine/engine.h"
#include "ports/backend.h"
#include "server/free_space.h"
#include "server/log_followers.h"
#include "server/read_pool.h"

namespace drover {

/// Threads that read the ledger. Workers do not wait for people's lists, and neither for searches.
struct ReadPools {
  ReadPool& for_people;
  ReadPool& for_workers;
  ReadPool& for_searches;
};

class ServerBackend : public Backend {
 public:
  ServerBackend(Engine& engine, Store& store, ReadPools readers, LogFollowers& followers, std::string logs,
                FreeSpace space)
      : engine_(engine),
        store_(store),
        readers_(readers),
        followers_(followers),
        logs_(std::move(logs)),
        space_(std::move(space)) {}

  void post(Command command, std::function<void(Result<Effect>)> answered) override;
  void later(std::function<void()> work) override { readers_.for_people.post(std::move(work)); }
  void later_for_workers(std::function<void()> work) { readers_.for_workers.post(std::move(work)); }
  void search(const SearchQuestion& question, HttpReply reply) override;

  Result<DefinitionId> add_definition(std::string_view text) override { return store_.add_definition(text); }
  Result<std::unique_ptr<ItemIntake>> begin_items() override;
  Result<NewManifest> add_range(std::int64_t first, std::uint64_t count) override;
  Result<ManifestInfo> claim_manifest(ManifestId id) override { return store_.claim_manifest(id); }
  Result<std::vector<Job>> jobs() override { return ReadPool::reader().jobs(); }
  Result<std::string> definition(DefinitionId id) override { return ReadPool::reader().definition(id); }
  Result<ItemCounts> counts(const Job& job) override;
  Result<std::vector<ItemView>> items(const Job& job, const ItemQuestion& question) override;
  Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) override;
  Result<std::vector<SettledItem>> settled(JobId job, bool with_failed) override;
  Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion& question) override;
  Result<void> log_of_running(const LogQuestion& question,
                              const std::function<std::shared_ptr<HttpStream>()>& begin) override {
    return followers_.add(question, begin);
  }
  Result<std::vector<WorkerView>> workers() override;

  /// A worker has said who it is, or was heard of again. From any thread.
  void note_worker(WorkerId worker, const std::string& version);
  void note_seen(WorkerId worker);
  /// Those that registered before the server's last end. Before the first request.
  void know(const std::vector<Worker>& workers);

 private:
  struct Seen {
    std::string version;
    std::int64_t seen_ms = 0;  // 0: not since the server started
  };

  Engine& engine_;
  Store& store_;
  const ReadPools readers_;
  LogFollowers& followers_;
  const std::string logs_;
  const FreeSpace space_;

  std::mutex mutex_;  // guards what follows
  std::map<WorkerId, Seen> seen_;
};

}  // namespace drover
