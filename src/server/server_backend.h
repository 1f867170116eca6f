// The server behind its APIs: the engine, the ledger's readers, lists of items and logs.
#pragma once

#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "ports/backend.h"
#include "server/event_feed.h"
#include "server/free_space.h"
#include "server/job_board.h"
#include "server/log_followers.h"
#include "server/own_fleets.h"
#include "server/quota.h"
#include "server/read_pool.h"
#include "server/searches.h"
#include "server/stream_board.h"
#include "store/manifest_chunks.h"

namespace drover {

/// Threads that read the ledger. Workers do not wait for people's lists, and neither for searches.
struct ReadPools {
  ReadPool& for_people;
  ReadPool& for_workers;
  ReadPool& for_searches;
};

class ServerBackend : public Backend {
 public:
  /// What it stands on.
  struct Parts {
    Engine& engine;
    Store& store;
    ReadPools readers;
    const JobBoard& board;
    LogFollowers& followers;
    EventFeed& events;
    std::string ledger;  // its path
    std::string logs;
    ImageResolver& images;
    OwnFleets& fleets;
  };
  ServerBackend(Parts parts, FreeSpace space);

  void post(Command command, std::function<void(Result<Effect>)> answered) override;
  Result<std::vector<std::string>> explain_fleet(const std::string& fleet) override {
    return parts_.fleets.explain(fleet);
  }
  std::vector<std::string> fleet_troubles(const std::string& fleet, const FleetRules& rules) override {
    return parts_.fleets.troubles(fleet, rules);
  }
  void remove_job(JobId job, std::function<void(Result<Effect>)> answered) override;
  void later(const Holder& holder, std::function<void()> work) override {
    parts_.readers.for_people.post(holder, std::move(work));
  }
  void resolve_image(const std::string& image, ImageResolver::Resolved resolved) override {
    parts_.images.resolve(image, std::move(resolved));
  }
  void search(const SearchQuestion& question, HttpReply reply) override { searches_.begin(question, std::move(reply)); }
  /// Searches and queries under way end soon, and none begins.
  void stop_searches();

  Result<DefinitionId> add_definition(std::string_view text) override { return parts_.store.add_definition(text); }
  Result<std::unique_ptr<ItemIntake>> begin_items() override;
  Result<NewManifest> add_range(std::int64_t first, std::uint64_t count) override;
  Result<ManifestInfo> claim_manifest(ManifestId id) override { return parts_.store.claim_manifest(id); }
  StoreReader& ledger() override { return ReadPool::reader(); }
  std::vector<JobView> list_jobs(const JobFilter& filter) override { return parts_.board.list(filter); }
  Result<JobView> find_job(const std::string& reference) override { return parts_.board.find(reference); }
  std::optional<Job> find_job(JobId id) override { return parts_.board.find(id); }
  std::shared_ptr<const Stream> find_stream(const std::string& name) override { return streams_.find(name); }
  std::vector<std::shared_ptr<const Stream>> list_streams(const std::string& prefix) override {
    return streams_.list(prefix);
  }
  void ask_sql(std::string query, std::uint64_t most_rows, const Holder& holder,
               std::function<void(const Result<SqlAnswer>&)> answered) override;
  Result<void> follow_events(EventId after, const std::string& job, const Holder& holder, const std::string& key_id,
                             const std::function<std::shared_ptr<HttpStream>()>& begin) override {
    return parts_.events.add(after, job, holder, key_id, begin);
  }
  Result<std::string> definition(DefinitionId id) override { return ReadPool::reader().definition(id); }
  Result<std::vector<ItemView>> items(const Job& job, const ItemQuestion& question) override;
  Result<std::vector<ItemView>> ended_items(const Job& job, AttemptOrder order, std::uint64_t skip,
                                            std::uint64_t limit) override;
  Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) override;
  Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion& question,
                                              const std::vector<Attempt>& attempts) override;
  Result<void> log_of_running(const LogQuestion& question,
                              const std::function<std::shared_ptr<HttpStream>()>& begin) override {
    return parts_.followers.add(question, begin);
  }
  Result<std::vector<WorkerView>> workers() override;
  /// The first so many by name, as the core sees them. Waits for the core.
  Result<std::vector<StreamView>> streams(std::uint64_t most);

  const std::shared_ptr<ManifestChunks>& manifest_chunks() const { return chunks_; }

  /// A worker has said who it is, or was heard of again. From any thread.
  void note_worker(WorkerId worker, const std::string& version);
  void note_seen(WorkerId worker);
  void note_version(WorkerId worker, const std::string& version);
  void note_devices(WorkerId worker, std::vector<DeviceState> devices);
  void note_standing(const WorkerStands& said);
  void forget(WorkerId worker);
  /// Jobs that users have removed since the last call.
  std::vector<JobId> take_removed();
  /// Those that registered before the server's last end. Before the first request.
  void know(const std::vector<Worker>& workers);
  void know(const std::vector<Stream>& streams) { streams_.know(streams); }

 private:
  struct Seen {
    std::string version;
    std::int64_t seen_ms = 0;  // 0: not since the server started
    Standing standing = Standing::alive;
    std::vector<DeviceState> devices;
  };

  const Parts parts_;
  /// Fills in what people see beside the states: the items themselves, and who ran them.
  Result<void> describe(const Job& job, std::vector<ItemView>& items);
  Result<void> describe_by_list(const Job& job, std::vector<ItemView>& items);
  static Result<void> describe_by_messages(const Job& job, std::vector<ItemView>& items);

  const FreeSpace space_;
  const std::shared_ptr<ManifestChunks> chunks_;
  Searches searches_;
  Quota sql_quota_;
  std::stop_source sql_stop_;
  StreamBoard streams_;

  std::mutex mutex_;  // guards what follows
  std::map<WorkerId, Seen> seen_;
  std::vector<JobId> removed_;
};

}  // namespace drover
