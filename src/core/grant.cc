// Items are handed out in ranges, and taken back.
//
// The invariant everything here keeps: an open item without a row is covered by exactly one grant, which holds it; an
// open item with a row is held by the grant its row names, or waits.
#include <algorithm>

#include "base/check.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {

namespace {

// In a queue that shares fairly, no share is handed more than this at a time while others wait.
constexpr std::int64_t kFairSliceMs = 100;
// However many a worker wants, one answer carries no more.
constexpr std::uint64_t kMostAtOnce = 1'024;
// So many waiting items are taken up at a time when they are due.
constexpr std::size_t kMostWoken = 256;

}  // namespace

// As much as the room holds, from whoever is next. An item for which there is too little room comes last: what came
// behind it would only wait.
std::vector<Lease> Core::grant_items(const ParkedPoll& poll) {
  std::vector<Lease> leases;
  const std::vector<JobId> hidden = hide(poll.not_now);
  Session& session = volatile_.sessions.at(poll.worker);
  std::uint64_t want = std::min(poll.want, kMostAtOnce);
  Resources room = poll.room;
  while (want > 0) {
    const auto choice = volatile_.schedule.choose(session.kind, room, session.held, volatile_.now_ms);
    if (!choice) break;
    Job& job = job_at(choice->job);
    const std::uint64_t most = choice->makes_room ? 1 : std::min({want, room.holds(job.ask), at_once(job)});
    Lease lease = grant_from(job, poll.worker, poll.number, most);
    want -= lease.count;
    room = room.minus(job.ask.times(lease.count));
    leases.push_back(std::move(lease));
    if (choice->makes_room) break;
  }
  show_again(hidden);
  return leases;
}

// How many of its items a job may be given before others are looked at again.
std::uint64_t Core::at_once(const Job& job) const {
  const JobIndex& index = volatile_.jobs.at(job.id);
  std::uint64_t most = Policy::kNoLimit;
  if (job.max_running > 0)
    most = job.max_running - index.in_hands + (planted(Plant::one_more_than_max_running) ? 1 : 0);
  const Schedule::Share& share = volatile_.schedule.at(index.share);
  const Schedule::Lane& lane = *share.lane;
  most = std::min(most, volatile_.schedule.may_have(share, job.ask));
  if (lane.fair && lane.shares.size() > 1) {
    most = std::min(most, static_cast<std::uint64_t>(std::max<std::int64_t>(1, kFairSliceMs / index.planned_ms)));
  }
  return most;
}

// Items that wait for a retry come first, then untouched ones, each as one range of neighbours.
Lease Core::grant_from(Job& job, WorkerId worker, PollNumber poll, std::uint64_t want) {
  JobIndex& index = volatile_.jobs.at(job.id);
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
    const auto [first, count] = untouched(job, want);
    DROVER_CHECK(count > 0, "a job that is offered has something to hand out");
    lease.first = first;
    lease.count = count;
    for (std::uint64_t offset = 0; offset < count; ++offset) {
      set_mark(job.id, ItemIndex{first.value + offset}, ItemMark::open);
    }
    if (!waits_for_items(job)) index.pending_from = ItemIndex{first.value + count};
  }

  ++durable_.counters.next_grant;
  changes_.counters();
  durable_.grants.emplace(id, Grant{id, job.id, worker, poll, lease.first, lease.count});
  changes_.grant(id);
  volatile_.grant_left[id] = lease.count;
  index.grants.insert(id);
  volatile_.worker_grants.at(worker).insert(id);
  restand(worker);
  if (job.started_ms == 0) begin(job);
  if (Schedule::Lane& lane = *volatile_.schedule.at(index.share).lane; lane.fair) age_usage(job.place.queue, lane);
  into_hands(job, worker, lease.count);
  reconsider(job);
  return lease;
}

// The next items that nobody has had yet and that need not wait for others: where they begin, and how many of them are
// neighbours. Looking is paid for once: what was passed over is not looked at again.
std::pair<ItemIndex, std::uint64_t> Core::untouched(const Job& job, std::uint64_t want) {
  JobIndex& index = volatile_.jobs.at(job.id);
  const ItemBlocks& blocks = durable_.blocks.at(job.id);
  if (!waits_for_items(job)) {
    const auto first = blocks.find(ItemMark::pending, index.pending_from);
    index.pending_from = first.value_or(ItemIndex{job.total});
    if (!first) return {};
    if (planted(Plant::sequential_out_of_order) && job.sequential && blocks.count(ItemMark::pending) > 1) {
      return {blocks.find(ItemMark::pending, ItemIndex{first->value + 1}).value_or(*first), 1};
    }
    return {*first, blocks.run_length(ItemMark::pending, *first, want)};
  }
  if (job.sequential) {
    const auto first = blocks.find(ItemMark::pending, ItemIndex{0});
    return first && is_unlocked(job, *first) ? std::pair{*first, std::uint64_t{1}}
                                             : std::pair{ItemIndex{}, std::uint64_t{0}};
  }
  std::vector<ItemBlocks::Marked> all = {{&blocks, ItemMark::pending}};
  for (const Dependency& it : job.after) {
    if (!it.each || planted(Plant::item_dependency_ignored)) continue;
    const Job* other = durable_.find_job(it.job);
    if (other != nullptr && other->state == JobState::succeeded) continue;
    const ItemBlocks* theirs = durable_.find_blocks(it.job);
    if (theirs == nullptr) return {};
    all.push_back({theirs, ItemMark::succeeded});
  }
  const auto first_in = [&](std::uint64_t block, std::uint64_t end_block) {
    return ItemBlocks::find_in_all(all, ItemIndex{block * ItemBlocks::kBlockItems},
                                   ItemIndex{std::min(job.total, end_block * ItemBlocks::kBlockItems)});
  };
  while (!index.unlocked.empty()) {
    const std::uint64_t block = *index.unlocked.begin();
    if (const auto first = first_in(block, block + 1)) return {*first, ItemBlocks::run_in_all(all, *first, want)};
    index.unlocked.erase(index.unlocked.begin());
  }
  const auto first = first_in(index.unlocked_from, blocks.block_count());
  index.unlocked_from = first ? ItemBlocks::block_of(*first) : blocks.block_count();
  if (!first) return {};
  return {*first, ItemBlocks::run_in_all(all, *first, want)};
}

std::vector<StopOrder> Core::stop_orders(WorkerId worker) {
  std::vector<StopOrder> orders;
  if (!std::exchange(volatile_.sessions.at(worker).stops_due, false)) return orders;
  for (const GrantId id : volatile_.worker_grants.at(worker)) {
    const Job& job = durable_.jobs.at(durable_.grants.at(id).job);
    if (job.stop == StopCause::none || !volatile_.jobs.at(job.id).told_to_stop.insert(worker).second) continue;
    const bool at_once = job.stop == StopCause::cancelled || job.stop == StopCause::timed_out;
    orders.push_back({job.id, at_once ? StopMode::kill_running : StopMode::finish_running});
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
      lose_running(grant, *open,
                   worker_is_gone ? "lost: its worker went away" : "lost: its lease never reached the worker");
    } else {
      OpenItem back = *open;
      if (planted(Plant::return_forgets_history)) back.tries = back.losses = 0;
      make_waiting(back, volatile_.now_ms);
      one_less(id);
    }
  }
  DROVER_CHECK(!durable_.grants.contains(id), "a released grant holds nothing");
}

// It was named as running, and nobody will hear how it ended.
void Core::lose_running(const Grant& grant, const OpenItem& item, const char* reason) {
  lose(grant, item,
       EndedAttempt{.token = {grant.id, item.item},
                    .outcome = Outcome{.ending = Ending::lost, .reason = reason},
                    .usage = Usage{.started_ms = item.started_ms,
                                   .wall_us = std::max<std::int64_t>(0, volatile_.now_ms - item.started_ms) * 1000}});
}

// Items a worker took and will not start. At either end of a grant they shrink it; in its middle they get a row, since
// the grant goes on covering them. One that was named as running has begun: that attempt is lost.
void Core::give_back(WorkerId worker, const std::vector<Token>& returned) {
  std::map<GrantId, std::set<ItemIndex>> by_grant;
  for (const Token& token : returned) by_grant[token.grant].insert(token.item);
  for (const auto& [id, items] : by_grant) {
    auto found = durable_.grants.find(id);
    if (found == durable_.grants.end() || found->second.worker != worker) continue;
    const Grant whole = found->second;
    for (const ItemIndex item : items) {
      if (!owns(whole, item)) continue;
      const OpenItem* open = durable_.find_open(whole.job, item);
      if (open == nullptr || !open->counted || planted(Plant::returned_running_item_ignored)) continue;
      lose_running(whole, *open, "lost: its worker returned it");
    }
    found = durable_.grants.find(id);
    if (found == durable_.grants.end()) continue;
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

// One item has left the grant: one that was known to run since a time, or not. With the last one the grant is over.
void Core::one_less(GrantId id, std::optional<std::int64_t> ran_since_ms) {
  auto left = volatile_.grant_left.find(id);
  DROVER_CHECK(left != volatile_.grant_left.end() && left->second > 0, "a grant loses only what it holds");
  const auto grant = durable_.grants.find(id);
  Job& job = job_at(grant->second.job);
  out_of_hands(job, grant->second.worker, ran_since_ms);
  if (--left->second == 0) {
    const WorkerId worker = grant->second.worker;
    volatile_.jobs.at(job.id).grants.erase(id);
    volatile_.worker_grants.at(worker).erase(id);
    restand(worker);
    volatile_.grant_left.erase(left);
    durable_.grants.erase(grant);
    changes_.grant(id);
    auto& notes = volatile_.sessions.at(worker).notes;
    if (notes.contains(job.id) && !holds_some(worker, job.id)) notes.erase(job.id);
  }
  reconsider(job);
  end_if_done(job);
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
  if (waits_for_items(job_at(job))) look_again(volatile_.jobs.at(job), ItemBlocks::block_of(item));
}

void Core::wake_delayed() {
  // The others follow with the next command: next_deadline() has passed.
  std::size_t left = kMostWoken;
  while (!volatile_.delayed.empty() && std::get<0>(*volatile_.delayed.begin()) <= volatile_.now_ms && left-- > 0) {
    const auto [at_ms, job, item] = *volatile_.delayed.begin();
    volatile_.delayed.erase(volatile_.delayed.begin());
    volatile_.jobs.at(job).ready.insert(item);
    reconsider(job_at(job));
  }
}

}  // namespace drover
