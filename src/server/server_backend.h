// The server behind its faces: the engine, the ledger's readers, lists of items and logs.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "engine/engine.h"
#include "ports/backend.h"
#include "server/free_space.h"
#include "server/read_pool.h"

namespace drover {

class ServerBackend : public Backend {
 public:
  /// `searchers` is a pool of its own: a search takes long, and nobody else shall wait for it.
  ServerBackend(Engine& engine, Store& store, ReadPool& readers, ReadPool& searchers, std::string logs, FreeSpace space)
      : engine_(engine),
        store_(store),
        readers_(readers),
        searchers_(searchers),
        logs_(std::move(logs)),
        space_(std::move(space)) {}

  void post(Command command, std::function<void(Result<Effect>)> answered) override;
  void later(std::function<void()> work) override { readers_.post(std::move(work)); }
  void search(const SearchQuestion& question, HttpReply reply) override;

  Result<DefinitionId> add_definition(std::string_view text) override { return store_.add_definition(text); }
  Result<std::unique_ptr<ItemIntake>> begin_items() override;
  Result<NewManifest> add_range(std::int64_t first, std::uint64_t count) override;
  Result<ManifestInfo> manifest(ManifestId id) override { return ReadPool::reader().manifest(id); }
  Result<std::vector<Job>> jobs() override { return ReadPool::reader().jobs(); }
  Result<std::string> definition(DefinitionId id) override { return ReadPool::reader().definition(id); }
  Result<ItemCounts> counts(const Job& job) override;
  Result<std::vector<ItemView>> items(const Job& job, const ItemQuestion& question) override;
  Result<std::string> item_text(const Job& job, ItemIndex item) override;
  Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) override;
  Result<std::vector<SettledItem>> settled(JobId job, bool with_failed) override;
  Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion& question) override;
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
  ReadPool& readers_;
  ReadPool& searchers_;
  const std::string logs_;
  const FreeSpace space_;

  std::mutex mutex_;  // guards what follows
  std::map<WorkerId, Seen> seen_;
};

}  // namespace drover
