// What the APIs in api/ need of the server behind them. server/ has the adapter; a test has a fake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/device_state.h"
#include "base/holder.h"
#include "base/result.h"
#include "core/command.h"
#include "core/planner/snapshot.h"
#include "ports/http.h"
#include "ports/image_resolver.h"
#include "ports/store.h"

namespace drover {

struct NewManifest {
  ManifestId id;
  std::uint64_t items = 0;
};

/// Takes a list of items one by one. Its calls may wait for the disk.
class ItemIntake {
 public:
  virtual ~ItemIntake() = default;
  virtual Result<void> add(std::string_view item) = 0;
  /// All of it is stored when this returns. What is not finished goes.
  virtual Result<NewManifest> finish(Lasting lasting) = 0;
};

/// An item and its state, as people see it.
struct ItemView {
  ItemIndex item;
  std::string_view state;
  std::uint64_t attempts = 0;
  std::optional<Attempt> last;
  std::string text;
  std::string worker = {};    // that runs it, or that its last attempt ran on; empty: none is known
  std::int64_t since_ms = 0;  // when the running attempt was started; 0: none runs
};

struct ItemQuestion {
  ItemIndex from;
  std::uint64_t limit = 100;
  std::string state;  // empty: all
};

/// Bytes as they were printed, or an object of JSON for each line.
enum class LogForm : std::uint8_t { text, json };

struct LogQuestion {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt;  // 0: all, one after another
  bool only_stderr = false;
  std::uint64_t tail = 0;    // lines; 0: all
  std::uint64_t skip = 0;    // bytes of the first attempt that is asked for, as they come without the tail
  bool follow = false;       // go on until the item, or the attempt, has ended
  bool whole_lines = false;  // of what runs, no line before it has ended; with LogForm::json
  LogForm form = LogForm::text;
  Holder holder = {};  // who asks
  /// Whether who asks may still be answered: their key may be removed, or expire. From any thread.
  std::function<bool()> may_still = [] { return true; };
};

struct SearchQuestion {
  JobId job;
  std::string pattern;
  bool only_failed = false;
  bool ignore_case = false;
  std::uint64_t limit = 1000;
  Holder holder = {};  // as of a LogQuestion
  std::function<bool()> may_still = [] { return true; };
};

/// A job and how far it is.
struct JobView {
  Job job;
  ItemCounts counts;
  std::uint64_t in_hands = 0;  // items that workers have, named as running or not
};

/// Which jobs are listed; what is empty matches all.
struct JobFilter {
  std::string state;
  std::string name;
  std::string queue;
  std::string owner;
  std::string share;
  JobId before;  // only older ones
  std::uint64_t limit = 100;
  std::function<bool(const JobView&)> suits = {};  // what else decides; quick, since jobs do not change meanwhile
};

using SqlCell = std::variant<std::monostate, std::int64_t, std::string, Bytes>;
struct SqlAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<SqlCell>> rows;
  bool cut = false;  // there were more
  /// Others may ask as soon as this is gone: kept until the answer was sent.
  std::shared_ptr<const void> share = {};
};

/// A worker as the server knows it.
struct WorkerView {
  Worker worker;
  std::uint64_t running = 0;  // items in its hands
  std::int64_t seen_ms = 0;   // when it was last heard; 0: not since the server started
  std::string version;
  Standing standing = Standing::alive;
  std::vector<DeviceState> devices = {};  // its GPUs, where their driver tells of them
};

/// In one word, as people see it.
inline std::string_view state_of(const WorkerView& it) {
  if (it.worker.state == WorkerState::left) return "left";
  if (!it.worker.quarantine.empty()) return "quarantined";
  if (it.worker.state != WorkerState::alive) return to_string(it.worker.state);
  if (it.worker.registered_ms == 0) return "fenced";
  if (it.seen_ms == 0) return "unheard";  // registered with an earlier process of the server, and silent since
  return it.standing == Standing::draining ? "draining" : "alive";
}

using EffectTaken = std::function<void(Result<Effect>)>;

/// Takes a command's answer on another thread. The one that commits would wait while a long answer is made.
inline EffectTaken resumed(Resume resume, EffectTaken answered) {
  return [resume = std::move(resume), answered = std::move(answered)](Result<Effect> effect) mutable {
    resume([answered = std::move(answered), effect = std::move(effect)]() mutable { answered(std::move(effect)); });
  };
}

class Backend {
 public:
  virtual ~Backend() = default;

  /// Answered when it is durable, on any thread.
  virtual void post(Command command, EffectTaken answered) = 0;
  /// What the planner would do about a fleet now, a line for each reason. Waits for the core: from within later() only.
  virtual Result<std::vector<std::string>> explain_fleet(const std::string& fleet) = 0;
  /// What is wrong with the shapes that the rules name, or with the fleet's provider, as far as is known now.
  virtual std::vector<std::string> fleet_troubles(const std::string& fleet, const FleetRules& rules) = 0;
  /// Removes a job that has ended, with its items and logs. The answer is that of ForgetJob.
  virtual void remove_job(JobId job, EffectTaken answered) = 0;
  /// Does the work on a thread that may wait for disks. Holders have their turns one after another.
  virtual void later(const Holder& holder, std::function<void()> work) = 0;

  /// The digest of what an image's tag means right now, on any thread; an error: that is not known here, and why.
  virtual void resolve_image(const std::string& image, ImageResolver::Resolved resolved) = 0;

  /// Answers by itself, when it is its turn: a few are done at a time, and few of one holder.
  virtual void search(const SearchQuestion& question, HttpReply reply) = 0;

  // As of the last commit; wait for nothing.
  /// The newest first.
  virtual std::vector<JobView> list_jobs(const JobFilter& filter) = 0;
  /// By its id, a unique beginning of it, or its name, the newest.
  virtual Result<JobView> find_job(const std::string& reference) = 0;
  virtual std::optional<Job> find_job(JobId id) = 0;
  /// By name; null if not found.
  virtual std::shared_ptr<const Stream> find_stream(const std::string& name) = 0;
  /// Those whose names begin so, by name.
  virtual std::vector<std::shared_ptr<const Stream>> list_streams(const std::string& prefix) = 0;

  /// Answered on a thread of its own, within a bounded time. `in_use`: the holder has too many under way.
  virtual void ask_sql(std::string query, std::uint64_t most_rows, const Holder& holder,
                       std::function<void(const Result<SqlAnswer>&)> answered) = 0;
  /// Writes events after this one to the stream that `begin` gives, for as long as the peer is there; of one job only,
  /// if its UUID is given; and as long as the key is good. Refused when too many do.
  virtual Result<void> follow_events(EventId after, const std::string& job, const Holder& holder,
                                     const std::string& key_id,
                                     const std::function<std::shared_ptr<HttpStream>()>& begin) = 0;

  // What follows may wait for disks: from within later() only.
  virtual StoreReader& ledger() = 0;
  virtual Result<DefinitionId> add_definition(std::string_view text) = 0;
  virtual Result<std::unique_ptr<ItemIntake>> begin_items() = 0;
  virtual Result<NewManifest> add_range(std::int64_t first, std::uint64_t count) = 0;
  /// What an uploaded list holds; it stays until a job can refer to it.
  virtual Result<ManifestInfo> claim_manifest(ManifestId id) = 0;
  virtual Result<std::string> definition(DefinitionId id) = 0;
  virtual Result<std::vector<ItemView>> items(const Job& job, const ItemQuestion& question) = 0;
  /// Items that have ended, those with the longest time or the most memory first, without the first `skip` of them.
  virtual Result<std::vector<ItemView>> ended_items(const Job& job, AttemptOrder order, std::uint64_t skip,
                                                    std::uint64_t limit) = 0;
  virtual Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) = 0;
  /// What these attempts of the item printed, or the one that is asked for.
  virtual Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion& question,
                                                      const std::vector<Attempt>& attempts) = 0;
  /// The same of an item that runs, with what it has printed by now, and what it prints from now on if that is asked
  /// for. `begin` is called once, unless it is refused.
  virtual Result<void> log_of_running(const LogQuestion& question,
                                      const std::function<std::shared_ptr<HttpStream>()>& begin) = 0;
  virtual Result<std::vector<WorkerView>> workers() = 0;
};

}  // namespace drover
