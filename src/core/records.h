// The records that last: what the store keeps and the core loads back. Each lists its fields once, by the names people
// see in the ledger; the state hash and the stores' codecs walk that list, so a new field cannot be forgotten by one of
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/resources.h"
#include "base/uuid.h"
#include "base/words.h"
#include "core/policy.h"
#include "core/reopen_choice.h"
#include "core/usage.h"

namespace drover {

/// As many items as one job may have. A job of this size costs 40 MB before its first item runs.
inline constexpr std::uint64_t kMostItems = 10'000'000'000;

enum class JobState : std::uint8_t { pending, running, succeeded, failed, cancelled };
std::string_view to_string(JobState state);
std::optional<JobState> job_state_from(std::string_view name);

/// Why a job takes no new items although some are left.
enum class StopCause : std::uint8_t {
  none,
  cancelled,
  too_many_failures,
  timed_out,
  dependency,
  cannot_run,
  withdrawn,  // cancelled, but what runs may finish
};
/// Whether somebody asked for it.
inline bool is_cancel(StopCause cause) {
  return cause == StopCause::cancelled || cause == StopCause::withdrawn;
}
std::string_view to_string(StopCause cause);

/// A job that another one waits for: for its success, or each item for the success of the item of the same number.
struct Dependency {
  JobId job;
  bool each = false;

  bool operator==(const Dependency&) const = default;
};
inline constexpr std::size_t kMostDependencies = 20;

/// The queue of those who name none. It is always there.
inline constexpr std::string_view kDefaultQueue = "default";

/// Where a job stands among others: its queue, whose account it runs on, and what comes before it.
struct JobPlace {
  std::string queue{kDefaultQueue};
  std::string share;           // in a queue that shares fairly: among whom
  std::uint32_t priority = 0;  // within its share; higher first
  std::string owner;           // whose key it was submitted with

  bool operator==(const JobPlace&) const = default;
};
inline constexpr std::uint32_t kHighestPriority = 9999;

/// Which machines of a provider a job's items may run on. Spot machines cost less, and may be taken away at any moment.
enum class SpotUse : std::uint8_t { prefer, only, never };
std::string_view to_string(SpotUse use);

struct SpotRules {
  SpotUse use = SpotUse::prefer;
  // With `prefer`: an item that was lost so often waits for a machine that is not a spot machine; 0: never.
  std::uint32_t on_demand_after_losses = 3;
  // With `prefer`: for so long there may be no spot machines before others are launched, and an item that was lost too
  // often waits for one of those before it runs anywhere.
  std::int64_t on_demand_after_ms = 600'000;

  bool operator==(const SpotRules&) const = default;
};

/// The label that says whether a fleet's machine is a spot machine.
inline constexpr std::string_view kMarketLabel = "market";
inline constexpr std::string_view kSpotMarket = "spot";
inline constexpr std::string_view kOnDemandMarket = "on-demand";
bool is_spot(const Labels& labels);

/// How a job is to be run, as it was submitted. SubmitJob carries it to the core, and Job keeps it.
struct JobSpec {
  std::string name;
  Policy policy;
  Resources ask = {};   // of each item; nothing: it runs anywhere
  Labels require = {};  // of a worker that shall run its items
  SpotRules spot = {};
  JobPlace place = {};
  std::vector<Dependency> after = {};
  bool sequential = false;            // one item after the other, in order
  std::uint64_t max_running = 0;      // so many of its items in workers' hands at most; 0: no limit
  std::int64_t job_timeout_ms = 0;    // from its first item on; 0: none
  std::string named_definition = {};  // "NAME:REVISION" that it was made from; empty: none
  std::string stream = {};            // whose messages are its items; empty: it has a list of items
  bool until_empty = false;           // of a job on a stream: it ends when the stream is empty

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("max_tries", self.policy.max_tries);
    visit("rules", self.policy.rules);
    visit("lost_limit", self.policy.lost_limit);
    visit("retry_delay_ms", self.policy.retry_delay_ms);
    visit("timeout_ms", self.policy.timeout_ms);
    visit("grace_ms", self.policy.grace_ms);
    visit("max_failures", self.policy.max_failures);
    visit("milli_cpus", self.ask.milli_cpus);
    visit("memory_bytes", self.ask.memory_bytes);
    visit("nvidia", self.ask.accelerators[0]);
    visit("amd", self.ask.accelerators[1]);
    visit("neuron", self.ask.accelerators[2]);
    visit("require", self.require);
    visit("spot", self.spot.use);
    visit("on_demand_after_losses", self.spot.on_demand_after_losses);
    visit("on_demand_after_ms", self.spot.on_demand_after_ms);
    visit("queue", self.place.queue);
    visit("share", self.place.share);
    visit("priority", self.place.priority);
    visit("owner", self.place.owner);
    visit("after", self.after);
    visit("sequential", self.sequential);
    visit("max_running", self.max_running);
    visit("job_timeout_ms", self.job_timeout_ms);
    visit("named_definition", self.named_definition);
    visit("stream", self.stream);
    visit("until_empty", self.until_empty);
  }
};

struct Job : JobSpec {
  JobId id;
  Uuid uuid;
  JobState state = JobState::running;
  StopCause stop = StopCause::none;
  std::string reason;  // why it stopped, for people
  DefinitionId definition;
  ManifestId manifest;
  std::uint64_t total = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;      // killed by a cancel; untouched items of an ended job are not counted here
  std::uint64_t failed_before = 0;  // failures that an earlier stop has already been about
  std::uint64_t epoch = 0;          // rises with every reopening: what was read of settled items before is stale
  std::int64_t created_ms = 0;
  std::int64_t ended_ms = 0;    // 0: has not ended
  std::int64_t started_ms = 0;  // when its first item was handed out since it was submitted or reopened
  // A retry of more items than one command takes goes through them from the first to the last.
  std::shared_ptr<const ReopenChoice> reopening;  // which items; null: no retry is under way
  ItemIndex reopen_next;                          // no item before it is left to reopen
  std::uint64_t reopen_epoch = 0;                 // only what was settled before this epoch is reopened
  JobUsage used;

  bool ended() const { return state != JobState::running && state != JobState::pending; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.id);
    visit("id", self.uuid);
    JobSpec::fields(self, visit);
    visit("state", self.state);
    visit("stop", self.stop);
    visit("reason", self.reason);
    visit("definition", self.definition);
    visit("manifest", self.manifest);
    visit("total", self.total);
    visit("succeeded", self.succeeded);
    visit("failed", self.failed);
    visit("cancelled", self.cancelled);
    visit("failed_before", self.failed_before);
    visit("epoch", self.epoch);
    visit("created_ms", self.created_ms);
    visit("ended_ms", self.ended_ms);
    visit("started_ms", self.started_ms);
    visit("reopening", self.reopening);
    visit("reopen_next", self.reopen_next);
    visit("reopen_epoch", self.reopen_epoch);
    JobUsage::fields(self.used, visit);
  }
};

/// Items by state, in the words everybody uses.
struct ItemCounts {
  std::uint64_t pending = 0;
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
};

/// An open item with a history. One without has no such row: its block says open and one grant covers it.
struct OpenItem {
  JobId job;
  ItemIndex item;
  GrantId grant;               // who holds it; nobody: it waits
  std::uint32_t attempts = 0;  // counted starts, the running one included
  std::uint32_t tries = 0;     // ended by themselves
  std::uint32_t losses = 0;
  bool counted = false;            // the holder has named it as running: this attempt is in `attempts`
  std::int64_t started_ms = 0;     // of the counted attempt
  std::int64_t not_before_ms = 0;  // of a waiting one

  bool waiting() const { return !grant; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("item", self.item);
    visit("grant_id", self.grant);
    visit("attempts", self.attempts);
    visit("tries", self.tries);
    visit("losses", self.losses);
    visit("counted", self.counted);
    visit("started_ms", self.started_ms);
    visit("not_before_ms", self.not_before_ms);
  }
};

/// A range of items in one worker's hands. Items of the range that ended, or whose row names another grant, are no
/// longer its own.
struct Grant {
  GrantId id;
  JobId job;
  WorkerId worker;
  PollNumber poll;  // whose answer carried it
  ItemIndex first;
  std::uint64_t count = 0;

  bool covers(ItemIndex item) const { return item >= first && item.value - first.value < count; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("grant_id", self.id);
    visit("job", self.job);
    visit("worker", self.worker);
    visit("poll", self.poll);
    visit("first", self.first);
    visit("count", self.count);
  }
};

/// A block of items, as ItemBlocks encodes it. Blocks nobody has touched are not kept.
struct BlockRecord {
  JobId job;
  std::uint64_t block = 0;
  Bytes marks;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("block", self.block);
    visit("marks", self.marks);
  }
};

/// Whether a worker is present, or how it departed.
enum class WorkerState : std::uint8_t {
  alive,
  lost,    // silent for longer than its term
  left,    // in order
  fenced,  // by an administrator, or because its key was removed
};
std::string_view to_string(WorkerState state);

struct Worker {
  WorkerId id;
  std::string name;
  std::uint64_t incarnation = 0;
  std::int64_t term_ms = 0;  // how long it may be silent before its grants are lost; 0: for ever
  std::int64_t registered_ms = 0;
  Resources has;  // what its items may use in all
  Labels labels;
  std::string quarantine;  // why it is given nothing; empty: it is
  std::string fleet;       // the fleet it belongs to, as its key says; empty: none, and it serves every queue
  WorkerState state = WorkerState::alive;
  std::int64_t gone_ms = 0;  // when it departed; 0: it has not

  /// A restored ledger has workers that are to register anew.
  bool is_present() const { return registered_ms != 0 && state == WorkerState::alive; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("worker", self.id);
    visit("name", self.name);
    visit("incarnation", self.incarnation);
    visit("term_ms", self.term_ms);
    visit("registered_ms", self.registered_ms);
    visit("milli_cpus", self.has.milli_cpus);
    visit("memory_bytes", self.has.memory_bytes);
    visit("nvidia", self.has.accelerators[0]);
    visit("amd", self.has.accelerators[1]);
    visit("neuron", self.has.accelerators[2]);
    visit("labels", self.labels);
    visit("quarantine", self.quarantine);
    visit("fleet", self.fleet);
    visit("state", self.state);
    visit("gone_ms", self.gone_ms);
  }
};

/// What is kept of a forgotten worker: attempts refer to it. The core writes these and never reads them.
struct FormerWorker {
  WorkerId id;
  std::string name;
  std::int64_t forgotten_ms = 0;  // no attempt of a job that was created later refers to it

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("worker", self.id);
    visit("name", self.name);
    visit("forgotten_ms", self.forgotten_ms);
  }
};

/// Whether the worker can run the job's items at all, if nothing else runs there.
bool suits(const Worker& worker, const Job& job);
/// Whether a worker of this fleet is given items from a queue with this list of fleets.
bool serves(const std::string& fleet, const std::vector<std::string>& fleets);

/// What belongs to no job: the clock and the next numbers.
struct Counters {
  std::int64_t now_ms = 0;  // when something last changed
  std::uint64_t next_job = 1;
  std::uint64_t next_grant = 1;
  std::uint64_t next_worker = 1;
  std::uint64_t next_event = 1;
  std::uint64_t next_stream = 1;
  std::uint64_t next_message_block = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("now_ms", self.now_ms);
    visit("next_job", self.next_job);
    visit("next_grant", self.next_grant);
    visit("next_worker", self.next_worker);
    visit("next_event", self.next_event);
    visit("next_stream", self.next_stream);
    visit("next_message_block", self.next_message_block);
  }
};

enum class AttemptState : std::uint8_t { succeeded = 1, failed = 2, cancelled = 3, lost = 4 };
std::string_view to_string(AttemptState state);

/// What happened: one row per attempt, written when it ends. The core writes these and never reads them.
struct Attempt {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt;
  AttemptState state = AttemptState::succeeded;
  Ending ending = Ending::exited;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::string reason;
  WorkerId worker;
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;
  std::int64_t wall_us = 0;
  std::int64_t user_us = 0;
  std::int64_t system_us = 0;
  std::int64_t peak_memory_kib = 0;
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  std::int64_t gpu_busy_us = 0;
  std::int64_t peak_gpu_memory_kib = 0;
  std::int64_t gpu_energy_mj = 0;
  std::uint32_t slot = 0;  // of the worker
  AttemptLog log;
  std::uint64_t epoch = 0;                             // of the job, when the attempt ended
  bool settled = false;                                // this attempt decided the item
  std::optional<std::int64_t> cost_microdollars;       // nothing: the price of its machine was not known
  std::optional<std::int64_t> on_demand_microdollars;  // what that would have been on demand

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("job", self.job);
    visit("item", self.item);
    visit("attempt", self.attempt);
    visit("state", self.state);
    visit("ending", self.ending);
    visit("exit_code", self.exit_code);
    visit("signal", self.signal);
    visit("reason", self.reason);
    visit("worker", self.worker);
    visit("started_ms", self.started_ms);
    visit("ended_ms", self.ended_ms);
    visit("wall_us", self.wall_us);
    visit("user_us", self.user_us);
    visit("system_us", self.system_us);
    visit("peak_memory_kib", self.peak_memory_kib);
    visit("read_bytes", self.read_bytes);
    visit("written_bytes", self.written_bytes);
    visit("gpu_busy_us", self.gpu_busy_us);
    visit("peak_gpu_memory_kib", self.peak_gpu_memory_kib);
    visit("gpu_energy_mj", self.gpu_energy_mj);
    visit("slot", self.slot);
    visit("log_bytes", self.log.bytes);
    visit("last_line", self.log.last_line);
    visit("log", self.log.extents);
    visit("epoch", self.epoch);
    visit("settled", self.settled);
    visit("cost_microdollars", self.cost_microdollars);
    visit("on_demand_microdollars", self.on_demand_microdollars);
  }
};

}  // namespace drover
