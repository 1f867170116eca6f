// The core's state, in two named parts. Durable comes back from the store after a crash, exactly; volatile is made
// anew from it, and what it held beyond that (parked polls, renewals) is allowed to be forgotten.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/item_blocks.h"
#include "core/mutation.h"
#include "core/records.h"
#include "core/schedule.h"

namespace drover {

struct Durable {
  Counters counters;
  std::map<JobId, Job> jobs;
  /// Of jobs that have not ended; and of those that ended without success, for as long as another job goes item by item
  /// after them. Of other ended jobs only the store has them.
  std::map<JobId, ItemBlocks> blocks;
  std::map<std::pair<JobId, ItemIndex>, OpenItem> open_items;
  std::map<GrantId, Grant> grants;
  std::map<WorkerId, Worker> workers;
  std::map<std::string, Queue> queues;  // the default one is here only when it was changed
  std::map<std::pair<std::string, std::string>, ShareRecord> shares;
  std::map<std::pair<std::string, std::uint64_t>, NamedDefinition> definitions;
  std::map<std::string, Fleet> fleets;
  std::map<std::string, Account> accounts;

  /// Takes back one put that a store has kept. An error means that the stored state contradicts itself.
  Result<void> restore(const Mutation& mutation);

  const Job* find_job(JobId id) const;
  const OpenItem* find_open(JobId job, ItemIndex item) const;
  /// nullptr: only the store has them, or there is no such job.
  const ItemBlocks* find_blocks(JobId job) const;
  /// Whether this item of a job that others come after is known to have succeeded.
  bool has_succeeded(JobId job, ItemIndex item) const;
  /// nullptr: there is none. The default one is always there.
  const Queue* find_queue(const std::string& name) const;
};

/// Whether the worker may be given the job's items: it has what they ask for, and serves the job's queue.
bool may_run(const Durable& durable, const Worker& worker, const Job& job);

/// The one hash of durable state: equal hashes, equal state.
std::uint64_t hash(const Durable& durable);

/// What the core looks up often about one job. All of it follows from Durable, but for what was learned of its items.
struct JobIndex {
  ItemIndex pending_from;     // no item before it is pending
  std::set<ItemIndex> ready;  // waiting, and may run now
  std::set<GrantId> grants;
  std::set<WorkerId> told_to_stop;  // who has been given its stop order
  std::set<WorkerId> declined_by;   // whose last poll declined it, and said why
  std::uint64_t in_hands = 0;       // items
  std::uint64_t running = 0;        // of them, those that were named as running
  bool scheduled = false;           // it has not ended, so it has a place
  bool offered = false;             // it has something to hand out
  Schedule::ClassId of = Schedule::kNone;
  Schedule::ShareId share = Schedule::kNone;
  std::size_t unmet = 0;              // jobs whose success it waits for
  std::uint64_t item_dependents = 0;  // jobs that have not ended and go item by item after it
  // Blocks in which items may be whose forerunners have succeeded: these, and all from `unlocked_from` on.
  std::set<std::uint64_t> unlocked;
  std::uint64_t unlocked_from = 0;
  bool page_asked = false;               // the next page of its retry is being read
  std::int64_t planned_ms = kPlannedMs;  // what an item of it is expected to take
  bool has_ended_some = false;
  // Since the core began:
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;   // tries
  std::int64_t success_us = 0;  // how long one takes

  static constexpr std::int64_t kPlannedMs = 1000;
};

/// Tries that failed quickly on one worker, one after another, without one that succeeded.
struct FailureStreak {
  struct Elsewhere {
    std::uint64_t successes = 0;
    std::uint64_t failures = 0;
    std::uint64_t own = 0;  // failures that are the worker's own
  };
  std::uint64_t failures = 0;
  std::map<JobId, Elsewhere> jobs;  // as they stood when the streak reached them
};

/// A worker's live connection to the core.
struct Session {
  PollNumber last_poll;
  std::int64_t expires_ms = 0;   // by Volatile::lease_clock_ms(); 0: never
  std::int64_t departed_ms = 0;  // since when it is to be forgotten; 0: it is not
  std::set<Token> gone;          // what it runs and does not hold, and was not told of
  std::set<Token> watched;       // what it runs that somebody follows, and was not told of
  bool draining = false;         // it gets nothing more
  bool asked_to_drain = false;   // by somebody else than itself
  bool told_to_drain = false;
  bool stops_due = true;                    // it may hold items of a job whose stop order it was not given
  std::uint64_t parked = 0;                 // its poll that waits; 0: none
  Schedule::KindId kind = Schedule::kNone;  // none: it is not present
  Readiness readiness = Readiness::away;    // as its kind has it
  std::map<JobId, std::string> notes;       // what it waits for before it can run what it holds of a job
  std::map<JobId, std::string> declined;    // jobs that its last poll declined, and why
  Schedule::Held held;                      // how many of its items are of which class
  std::uint64_t counted_milli_cpus = 0;     // in the capacity of all
  FailureStreak streak;
};

struct ParkedPoll {
  Ticket ticket;
  WorkerId worker;
  PollNumber number;
  std::uint64_t want = 0;
  std::int64_t until_ms = 0;
  Resources room;
  std::vector<JobId> not_now = {};
};

/// A job that has ended, and how many of those that come after it have heard of it.
struct EndedJob {
  JobId id;
  JobId told_up_to = {};
};

/// A job that was stopped, and which of its grants' workers are known to have to hear of it.
struct StoppedJob {
  JobId id;
  GrantId told_up_to = {};
};

struct Volatile {
  std::int64_t now_ms = 0;      // durable are the times at which something changed
  std::int64_t stalled_ms = 0;  // for how long, since it began, the core could not step
  std::map<JobId, JobIndex> jobs;
  std::map<GrantId, std::uint64_t> grant_left;  // items still in the grant's hands
  std::map<WorkerId, std::set<GrantId>> worker_grants;
  std::map<std::string, WorkerId> worker_by_name;
  std::map<Uuid, JobId> job_by_uuid;
  std::set<JobId> runnable;                                      // jobs that have not ended
  std::set<std::tuple<std::int64_t, JobId, ItemIndex>> delayed;  // waiting items that may not run before a time
  std::set<std::pair<std::int64_t, JobId>> job_deadlines;
  std::map<JobId, std::set<JobId>> dependents;  // of a job: those that have not ended and come after it
  std::map<JobId, std::set<JobId>> named_by;    // of a job: all that are known and come after it
  std::vector<EndedJob> just_ended;             // whose dependents have not all heard of it
  std::vector<StoppedJob> just_stopped;         // whose workers have not all been thought of
  std::vector<JobId> maybe_unneeded;            // ended jobs whose blocks may no longer be needed
  std::vector<ItemBlocks> unneeded;             // blocks that are freed part by part
  Schedule schedule;
  std::set<Schedule::ClassId> turned_up;  // somebody who waits may be given something of these
  std::set<JobId> touched;                // changed in the eyes of people
  std::set<WorkerId> to_tell;             // somebody who waits has something to hear
  std::map<WorkerId, Session> sessions;
  std::map<std::uint64_t, ParkedPoll> parked;  // in the order in which they came
  std::uint64_t next_parked = 1;
  std::set<WorkerId> present;
  std::set<std::pair<std::int64_t, WorkerId>> expiries;  // of leases, by the lease clock
  std::set<std::pair<std::int64_t, WorkerId>> departed;  // who is to be forgotten, by when it departed
  std::set<std::pair<std::int64_t, std::uint64_t>> poll_deadlines;

  /// Leases are measured on a clock that stands still while the core cannot step.
  std::int64_t lease_clock_ms() const { return now_ms - stalled_ms; }
};

/// How long a worker that was lost, left or was fenced is remembered.
inline constexpr std::int64_t kDepartedKeptMs = 24 * std::int64_t{3'600'000};

}  // namespace drover
