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

namespace drover {

struct Durable {
  Counters counters;
  std::map<JobId, Job> jobs;
  std::map<JobId, ItemBlocks> blocks;
  std::map<std::pair<JobId, ItemIndex>, OpenItem> open_items;
  std::map<GrantId, Grant> grants;
  std::map<WorkerId, Worker> workers;

  /// Takes back one put that a store has kept. An error means that the stored state contradicts itself.
  Result<void> restore(const Mutation& mutation);

  const Job* find_job(JobId id) const;
  const OpenItem* find_open(JobId job, ItemIndex item) const;
};

/// The one hash of durable state: equal hashes, equal state.
std::uint64_t hash(const Durable& durable);

/// What the core looks up often about one job. All of it follows from Durable.
struct JobIndex {
  ItemIndex pending_from;     // no item before it is pending
  std::set<ItemIndex> ready;  // waiting, and may run now
  std::set<GrantId> grants;
};

/// A worker's live connection to the core.
struct Session {
  PollNumber last_poll;
  std::int64_t expires_ms = 0;   // 0: never
  std::set<JobId> told_to_stop;  // jobs whose stop order it has been given
  std::set<Token> gone;          // what it runs and does not hold, and was not told of
  std::set<Token> watched;       // what it runs that somebody follows, and was not told of
  bool draining = false;         // it gets nothing more
  bool told_to_drain = false;
  std::uint64_t parked = 0;  // its poll that waits; 0: none
};

struct ParkedPoll {
  Ticket ticket;
  WorkerId worker;
  PollNumber number;
  std::uint64_t want = 0;
  std::int64_t until_ms = 0;
  Resources room;
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
  bool work_turned_up = false;                                   // somebody who waits may now have something to do
  std::map<WorkerId, Session> sessions;
  std::map<std::uint64_t, ParkedPoll> parked;  // in the order in which they came
  std::uint64_t next_parked = 1;
  std::set<std::pair<std::int64_t, WorkerId>> expiries;
  std::set<std::pair<std::int64_t, std::uint64_t>> poll_deadlines;
};

}  // namespace drover
