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
  /// nullptr: there is none. The default one is always there.
  const Queue* find_queue(const std::string& name) const;
};

/// The one hash of durable state: equal hashes, equal state.
std::uint64_t hash(const Durable& durable);

/// What the core looks up often about one job. All of it follows from Durable, but for what was learned of its items.
struct JobIndex {
  ItemIndex pending_from;     // no item before it is pending
  std::set<ItemIndex> ready;  // waiting, and may run now
  std::set<GrantId> grants;
  std::set<WorkerId> told_to_stop;  // who has been given its stop order
  std::uint64_t in_hands = 0;       // items
  std::uint64_t running = 0;        // of them, those that were named as running
  bool scheduled = false;           // it has not ended, so it has a place
  bool offered = false;             // it has something to hand out
  Schedule::ClassId of = Schedule::kNone;
  Schedule::ShareId share = Schedule::kNone;
  std::size_t unmet = 0;                 // jobs whose success it waits for
  std::set<std::uint64_t> unlocked;      // blocks in which items may be whose forerunners have succeeded
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
  std::int64_t expires_ms = 0;  // 0: never
  std::set<Token> gone;         // what it runs and does not hold, and was not told of
  std::set<Token> watched;      // what it runs that somebody follows, and was not told of
  bool draining = false;        // it gets nothing more
  bool asked_to_drain = false;  // by somebody else than itself
  bool told_to_drain = false;
  bool stops_due = true;     // it may hold items of a job whose stop order it was not given
  std::uint64_t parked = 0;  // its poll that waits; 0: none
  Schedule::KindId kind = Schedule::kNone;
  std::map<JobId, std::string> notes;    // what it waits for before it can run anything of a job
  Schedule::Held held;                   // how many of its items are of which class
  std::uint64_t counted_milli_cpus = 0;  // in the capacity of all
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

struct Volatile {
  std::int64_t now_ms = 0;  // durable are the times at which something changed
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
  std::vector<JobId> just_ended;                // whose dependents have not heard of it
  Schedule schedule;
  std::set<Schedule::ClassId> turned_up;  // somebody who waits may be given something of these
  std::set<JobId> touched;                // changed in the eyes of people
  std::set<WorkerId> to_tell;             // somebody who waits has something to hear
  std::map<WorkerId, Session> sessions;
  std::map<std::uint64_t, ParkedPoll> parked;  // in the order in which they came
  std::uint64_t next_parked = 1;
  std::set<std::pair<std::int64_t, WorkerId>> expiries;
  std::set<std::pair<std::int64_t, std::uint64_t>> poll_deadlines;
};

}  // namespace drover
