// What the faces in api/ need of the server behind them. server/ has the adapter; a test has a fake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/command.h"
#include "ports/http.h"
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
};

struct ItemQuestion {
  ItemIndex from;
  std::uint64_t limit = 100;
  std::string state;  // empty: all
};

struct LogQuestion {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt;  // 0: all, one after another
  bool only_stderr = false;
  std::uint64_t tail = 0;  // lines; 0: all
  std::uint64_t skip = 0;  // bytes of the first attempt that is asked for, as they come without the tail
  bool follow = false;     // go on until the item, or the attempt, has ended
};

struct SearchQuestion {
  JobId job;
  std::string pattern;
  bool only_failed = false;
  bool ignore_case = false;
  std::uint64_t limit = 1000;
};

/// A worker as the server knows it.
struct WorkerView {
  Worker worker;
  std::uint64_t running = 0;  // items in its hands
  std::int64_t seen_ms = 0;   // when it was last heard; 0: not since the server started
  std::string version;
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// Answered when it is durable, on any thread.
  virtual void post(Command command, std::function<void(Result<Effect>)> answered) = 0;
  /// Does the work on a thread that may wait for disks.
  virtual void later(std::function<void()> work) = 0;

  /// Answers by itself, when it is its turn: a few are done at a time.
  virtual void search(const SearchQuestion& question, HttpReply reply) = 0;

  // What follows may wait for disks: from within later() only.
  virtual Result<DefinitionId> add_definition(std::string_view text) = 0;
  virtual Result<std::unique_ptr<ItemIntake>> begin_items() = 0;
  virtual Result<NewManifest> add_range(std::int64_t first, std::uint64_t count) = 0;
  /// What an uploaded list holds; it stays until a job can refer to it.
  virtual Result<ManifestInfo> claim_manifest(ManifestId id) = 0;
  virtual Result<std::vector<Job>> jobs() = 0;
  virtual Result<std::string> definition(DefinitionId id) = 0;
  virtual Result<ItemCounts> counts(const Job& job) = 0;
  virtual Result<std::vector<ItemView>> items(const Job& job, const ItemQuestion& question) = 0;
  virtual Result<std::vector<Attempt>> attempts(JobId job, ItemIndex item) = 0;
  /// The items that ended without success, to be taken up again.
  virtual Result<std::vector<SettledItem>> settled(JobId job, bool with_failed) = 0;
  virtual Result<std::unique_ptr<HttpBodySource>> log(const LogQuestion& question) = 0;
  /// The same of an item that runs, with what it has printed by now, and what it prints from now on if that is asked
  /// for. `begin` is called once, unless it is refused.
  virtual Result<void> log_of_running(const LogQuestion& question,
                                      const std::function<std::shared_ptr<HttpStream>()>& begin) = 0;
  virtual Result<std::vector<WorkerView>> workers() = 0;
};

}  // namespace drover
