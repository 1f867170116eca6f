// Where state lasts. Store takes what the core changed and gives it back at start; StoreReader is the read side, which
// never stands in the way of a commit. store/ has the adapters.
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
#include "core/mutation.h"

namespace drover {

/// Made durable at once or not at all.
struct Batch {
  std::vector<Mutation> mutations;

  bool empty() const { return mutations.empty(); }
};

/// Neighbouring items of a manifest, packed and compressed.
struct ManifestChunk {
  ItemIndex first;
  std::uint64_t count = 0;
  Bytes data;
};

enum class ManifestKind : std::uint8_t {
  list,   // chunks hold the items
  range,  // the items are the numbers from `first_number` on
};

struct ManifestInfo {
  ManifestKind kind = ManifestKind::list;
  std::uint64_t items = 0;
  std::int64_t first_number = 0;
};

/// From when on a list would survive a power cut: with the batch of the job that refers to it, or by itself.
enum class Lasting : std::uint8_t { with_the_job, at_once };

class Store {
 public:
  virtual ~Store() = default;

  /// Everything durable, as the puts that would make it, in an order that Durable::restore takes.
  virtual Result<void> load(const std::function<Result<void>(const Mutation&)>& take) = 0;
  /// Returns when the batch would survive a power cut.
  virtual Result<void> commit(const Batch& batch) = 0;

  // Large things are written before the command that refers to them, and are durable when its batch is. What no job
  // came to refer to goes at open, or earlier by drop_unused().
  virtual Result<DefinitionId> add_definition(std::string_view text) = 0;
  virtual Result<ManifestId> begin_manifest() = 0;
  virtual Result<void> add_chunks(ManifestId manifest, const std::vector<ManifestChunk>& chunks) = 0;
  virtual Result<void> end_manifest(ManifestId manifest, const ManifestInfo& info, Lasting lasting) = 0;
  /// Nobody will refer to it. Waits for no disk: it goes when sweep_deleted() is called next.
  virtual void drop_manifest(ManifestId manifest) = 0;
  /// What a list that was ended holds. A job that refers to it may follow: however long it was unused, that begins
  /// anew.
  virtual Result<ManifestInfo> claim_manifest(ManifestId manifest) = 0;

  /// Drops lists and definitions that no job has referred to for so long, as far as these calls have seen.
  virtual Result<void> drop_unused(std::int64_t now_ms, std::int64_t unused_ms) = 0;
  /// Deletes attempts at items of jobs on streams, which may have no end, that ended by this time: of one job, about so
  /// many rows at most. False: it has been through all jobs.
  virtual Result<bool> drop_old_attempts(std::int64_t ended_by_ms, std::uint64_t rows) = 0;
  /// Deletes of what deleted jobs and dropped lists left behind about so many rows at most; whether there is more.
  virtual Result<bool> sweep_deleted(std::uint64_t rows) = 0;
};

/// Items that failed for good in the same way.
struct FailedAlike {
  Ending ending = Ending::exited;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::uint64_t items = 0;
  ItemIndex example;      // the first of them
  std::string reason;     // its
  std::string last_line;  // its
};

/// A job that has ended, and when. In the order of time.
struct EndedAt {
  std::int64_t ended_ms = 0;
  JobId job;

  auto operator<=>(const EndedAt&) const = default;
};

/// Items of a job that follow each other, both ends included; all of them unless it says otherwise.
struct ItemSpan {
  ItemIndex first;
  ItemIndex last = ItemIndex{kMostItems};
};

enum class AttemptOrder : std::uint8_t { longest, largest, busiest };  // in time, in memory, on GPUs

class StoreReader {
 public:
  virtual ~StoreReader() = default;

  virtual Result<std::vector<Job>> jobs() = 0;
  virtual Result<Job> job(JobId id) = 0;
  /// Jobs that had ended by this time, the earliest first, after this one; at most so many.
  virtual Result<std::vector<EndedAt>> jobs_ended_by(std::int64_t ended_by_ms, EndedAt after, std::uint64_t limit) = 0;
  /// Whether a job was created by this time.
  virtual Result<bool> has_job_created_by(std::int64_t created_by_ms) = 0;
  /// Those that are not forgotten.
  virtual Result<std::vector<Worker>> workers() = 0;
  /// Of any worker that an attempt refers to; empty: there is no such worker.
  virtual Result<std::string> worker_name(WorkerId id) = 0;
  virtual Result<std::vector<Queue>> queues() = 0;  // those that were ever set
  virtual Result<std::vector<ShareRecord>> shares() = 0;
  virtual Result<std::vector<NamedDefinition>> named_definitions() = 0;
  virtual Result<std::vector<Fleet>> fleets() = 0;
  /// By fleet, the oldest first; for an hour those that are gone, too.
  virtual Result<std::vector<Machine>> machines() = 0;
  /// Those of one kind, by name.
  virtual Result<std::vector<Document>> documents(const std::string& kind) = 0;
  virtual Result<std::optional<Document>> document(const std::string& kind, const std::string& name) = 0;
  virtual Result<std::vector<Account>> accounts() = 0;
  /// By name.
  virtual Result<std::vector<Stream>> streams() = 0;
  /// By its name.
  virtual Result<std::optional<Stream>> stream(const std::string& name) = 0;
  /// What a message says; nothing: it is gone.
  virtual Result<std::optional<std::string>> message(MessageNumber message) = 0;
  /// What the messages say that are these items of a job, until `take` says to stop. Some may be gone.
  virtual Result<void> each_item_message(JobId job, ItemSpan items,
                                         const std::function<bool(ItemIndex item, std::string content)>& take) = 0;
  /// Where a message in a stream for dead letters came from; nothing: it was sent there.
  virtual Result<std::optional<DeadLetter>> dead_letter(MessageNumber message) = 0;
  /// Events in order, after this one, until `take` says to stop.
  virtual Result<void> each_event(EventId after, const std::function<bool(const Event&)>& take) = 0;
  /// The last one; 0: none yet.
  virtual Result<EventId> newest_event() = 0;
  virtual Result<std::string> definition(DefinitionId id) = 0;
  virtual Result<ManifestInfo> manifest(ManifestId id) = 0;
  /// The chunk that holds the item.
  virtual Result<ManifestChunk> chunk(ManifestId manifest, ItemIndex item) = 0;
  /// The attempts that settled items, the longest or largest first.
  virtual Result<std::vector<Attempt>> settled_by(JobId job, AttemptOrder order, std::uint64_t skip,
                                                  std::uint64_t limit) = 0;
  /// The most frequent first.
  virtual Result<std::vector<FailedAlike>> failures(JobId job) = 0;
  /// The blocks that hold these items and were ever touched.
  virtual Result<void> each_block(JobId job, ItemSpan items, const std::function<void(const BlockRecord&)>& take) = 0;
  /// Nothing if it has been released.
  virtual Result<std::optional<Grant>> grant(GrantId id) = 0;
  virtual Result<void> each_open_item(JobId job, ItemSpan items, const std::function<void(const OpenItem&)>& take) = 0;
  /// Attempts in order of item and number, from `from` on, until `take` says to stop.
  virtual Result<void> each_attempt(JobId job, ItemIndex from, const std::function<bool(const Attempt&)>& take) = 0;
};

}  // namespace drover
