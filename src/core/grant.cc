// Items are handed out in ranges, and taken back.
//
// The invariant everything here keeps: an open item without a row is covered by exactly one grant, which holds it; an
// open item with a row is held by the grant its row names, or waits.
#include <algorithm>

#include "base/check.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {

// Jobs in the order in which they came, each as far as the room goes. One that finds less room than a single item asks
// for is passed over, unless the worker has nothing of it: then it gets one item, for which the worker makes room. Else
// a stream of small ones would keep it out for ever.
std::vector<Lease> Core::grant_items(const ParkedPoll& poll) {
  std::vector<Lease> leases;
  const Worker& worker = durable_.workers.at(poll.worker);
  std::uint64_t want = poll.want;
  Resources room = poll.room;
  for (auto it = volatile_.runnable.begin(); it != volatile_.runnable.end() && want > 0;) {
    const Job& job = durable_.jobs.at(*it);
    std::uint64_t most = 0;
    bool makes_room = false;
    if (job.stop == StopCause::none && (suits(worker, job) || planted(Plant::unfit_worker_served))) {
      most = std::min(want, room.holds(job.ask));
      makes_room = most == 0 && room.milli_cpus > 0 && !holds_some_of(poll.worker, job.id);
      if (makes_room) most = 1;
    }
    std::optional<Lease> lease;
    if (most > 0) lease = grant_from(job, poll.worker, poll.number, most);
    if (!lease) {
      ++it;
      continue;
    }
    want -= lease->count;
    room = room.minus(job.ask.times(lease->count));
    leases.push_back(std::move(*lease));
    if (makes_room) break;  // what came behind it would only wait
  }
  return leases;
}

bool Core::holds_some_of(WorkerId worker, JobId job) const {
  return std::ranges::any_of(volatile_.worker_grants.at(worker),
                             [&](GrantId id) { return durable_.grants.at(id).job == job; });
}

// Items that wait for a retry come first, then untouched ones, each as one range of neighbours.
std::optional<Lease> Core::grant_from(const Job& job, WorkerId worker, PollNumber poll, std::uint64_t want) {
  JobIndex& index = volatile_.jobs.at(job.id);
  ItemBlocks& blocks = durable_.blocks.at(job.id);
  const GrantId id{durable_.counters.next_grant};
  Lease lease{.grant = id,
              .job = job.id,
              .first = {},
              .attempts = {},
              .timeout_ms = job.policy.timeout_ms,
              .grace_ms = job.policy.grace_ms,
              .ask = job.ask};

  if (!index.ready.empty()) {
    lease.first = *index.ready.begin();
    while (lease.count < want && !index.ready.empty() &&
           index.ready.begin()->value == lease.first.value + lease.count) {
      OpenItem item = durable_.open_items.at({job.id, *index.ready.begin()});
      index.ready.erase(index.ready.begin());
      item.grant = id;
      item.not_before_ms = 0;
      lease.attempts.push_back(AttemptNumber{item.attempts + 1});
      put(item);
      ++lease.count;
    }
  } else {
    const std::optional<ItemIndex> first = blocks.find(ItemMark::pending, index.pending_from);
    index.pending_from = first.value_or(ItemIndex{job.total});
    if (!first) return std::nullopt;
    lease.first = *first;
    lease.count = blocks.run_length(ItemMark::pending, *first, want);
    index.pending_from = ItemIndex{first->value + lease.count};
    for (std::uint64_t offset = 0; offset < lease.count; ++offset) {
      set_mark(job.id, ItemIndex{first->value + offset}, ItemMark::open);
    }
  }

  ++durable_.counters.next_grant;
  changes_.counters();
  durable_.grants.emplace(id, Grant{id, job.id, worker, poll, lease.first, lease.count});
  changes_.grant(id);
  volatile_.grant_left[id] = lease.count;
  index.grants.insert(id);
  volatile_.worker_grants.at(worker).insert(id);
  return lease;
}

std::vector<StopOrder> Core::stop_orders(WorkerId worker) {
  std::vector<StopOrder> orders;
  Session& session = volatile_.sessions.at(worker);
  for (const GrantId id : volatile_.worker_grants.at(worker)) {
    const Job& job = durable_.jobs.at(durable_.grants.at(id).job);
    if (job.stop == StopCause::none || !session.told_to_stop.insert(job.id).second) continue;
    orders.push_back({job.id, job.stop == StopCause::cancelled ? StopMode::kill_running : StopMode::finish_running});
  }
  return orders;
}

bool Core::owns(const Grant& grant, ItemIndex item) const {
  if (!grant.covers(item) || durable_.blocks.at(grant.job).get(item) != ItemMark::open) return false;
  const OpenItem* open = durable_.find_open(grant.job, item);
  return open == nullptr || open->grant == grant.id;
}

// The whole grant goes back. If its worker is gone, what it was known to run is lost; what nobody saw running returns
// without a trace.
void Core::release_grant(GrantId id, bool worker_is_gone) {
  const Grant grant = durable_.grants.at(id);
  for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
    const ItemIndex item{grant.first.value + offset};
    if (!owns(grant, item)) continue;
    const OpenItem* open = durable_.find_open(grant.job, item);
    if (open == nullptr) {
      make_pending(grant.job, item);
      one_less(id);
    } else if (open->counted) {
      const char* reason = worker_is_gone ? "lost: its worker went away" : "lost: its lease never reached the worker";
      lose(grant, *open,
           EndedAttempt{
               .token = {grant.id, open->item},
               .outcome = Outcome{.ending = Ending::lost, .reason = reason},
               .usage = Usage{.started_ms = open->started_ms,
                              .wall_us = std::max<std::int64_t>(0, volatile_.now_ms - open->started_ms) * 1000}});
    } else {
      OpenItem back = *open;
      if (planted(Plant::return_forgets_history)) back.tries = back.losses = 0;
      make_waiting(back, volatile_.now_ms);
      one_less(id);
    }
  }
  DROVER_CHECK(!durable_.grants.contains(id), "a released grant holds nothing");
}

// Items a worker took and will not start. At either end of a grant they shrink it; in its middle they get a row, since
// the grant goes on covering them.
void Core::give_back(WorkerId worker, const std::vector<Token>& returned) {
  std::map<GrantId, std::set<ItemIndex>> by_grant;
  for (const Token& token : returned) by_grant[token.grant].insert(token.item);
  for (const auto& [id, items] : by_grant) {
    const auto found = durable_.grants.find(id);
    if (found == durable_.grants.end() || found->second.worker != worker) continue;
    Grant& grant = found->second;

    std::vector<ItemIndex> back;
    std::optional<ItemIndex> low;
    ItemIndex high;
    for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
      const ItemIndex item{grant.first.value + offset};
      if (!owns(grant, item)) continue;
      const OpenItem* open = durable_.find_open(grant.job, item);
      if (items.contains(item) && (open == nullptr || !open->counted)) {
        back.push_back(item);
      } else {
        if (!low) low = item;
        high = item;
      }
    }
    if (back.empty()) continue;
    if (low && (grant.first != *low || high.value - low->value + 1 != grant.count)) {
      grant.first = *low;
      grant.count = high.value - low->value + 1;
      changes_.grant(id);
    }
    const JobId job = grant.job;
    for (const ItemIndex item : back) {
      const OpenItem* open = durable_.find_open(job, item);
      if (open == nullptr && (!low || item < *low || item > high)) {
        make_pending(job, item);
      } else {
        make_waiting(open_item_or_new(job, item), volatile_.now_ms);
      }
      one_less(id);
    }
  }
}

// One item has left the grant. With the last one the grant is over.
void Core::one_less(GrantId id) {
  auto left = volatile_.grant_left.find(id);
  DROVER_CHECK(left != volatile_.grant_left.end() && left->second > 0, "a grant loses only what it holds");
  if (--left->second > 0) return;
  const auto grant = durable_.grants.find(id);
  const JobId job = grant->second.job;
  volatile_.jobs.at(job).grants.erase(id);
  volatile_.worker_grants.at(grant->second.worker).erase(id);
  volatile_.grant_left.erase(left);
  durable_.grants.erase(grant);
  changes_.grant(id);
  end_if_done(job_at(job));
}

void Core::make_waiting(OpenItem item, std::int64_t not_before_ms) {
  item.grant = GrantId{};
  item.counted = false;
  item.started_ms = 0;
  item.not_before_ms = not_before_ms;
  put(item);
  volatile_.delayed.insert({not_before_ms, item.job, item.item});
  wake_delayed();
}

void Core::make_pending(JobId job, ItemIndex item) {
  set_mark(job, item, ItemMark::pending);
  ItemIndex& from = volatile_.jobs.at(job).pending_from;
  from = std::min(from, item);
  volatile_.work_turned_up = true;
}

void Core::wake_delayed() {
  while (!volatile_.delayed.empty() && std::get<0>(*volatile_.delayed.begin()) <= volatile_.now_ms) {
    const auto [at_ms, job, item] = *volatile_.delayed.begin();
    volatile_.delayed.erase(volatile_.delayed.begin());
    volatile_.jobs.at(job).ready.insert(item);
    volatile_.work_turned_up = true;
  }
}

}  // namespace drover
