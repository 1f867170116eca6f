// Items are lent to workers in ranges, and taken back.
#include <algorithm>

#include "base/check.h"
#include "base/usage_bounds.h"
#include "core/workers/worker_faults.h"
#include "core/workers/workers.h"

namespace drover {
namespace {

// However many a worker wants, one answer carries no more.
constexpr std::uint64_t kMostAtOnce = 1'024;
constexpr std::uint64_t kMostMessagesAtOnce = 256;  // each is a step of its own
constexpr std::size_t kMostGrantsTold = 256;        // grants of a stopped job whose workers are thought of at a time

}  // namespace

// As much as the room holds, from whoever is next. An item for which there is too little room comes last: what came
// behind it would only wait.
std::vector<Lease> Workers::grant_items(const ParkedPoll& poll) {
  std::vector<Lease> leases;
  const std::vector<JobId> hidden = places_.hide(poll.not_now);
  const Session& session = now_.sessions.at(poll.worker);
  std::uint64_t want = std::min(poll.want, kMostAtOnce);
  std::uint64_t messages_left = kMostMessagesAtOnce;
  Resources room = poll.room;
  while (want > 0) {
    const auto choice = places_.choose(session.kind, room, poll.worker);
    if (!choice) break;
    const Job& job = jobs_.at(choice->job);
    std::uint64_t most = choice->makes_room ? 1 : std::min({want, room.holds(job.ask), places_.at_once(job)});
    if (!job.stream.empty()) most = std::min(most, messages_left);
    if (most == 0) break;
    Lease lease = grant_from(job, poll.worker, poll.number, most);
    if (lease.count == 0) continue;  // others were faster; the job is no longer offered
    want -= lease.count;
    if (!job.stream.empty()) messages_left -= lease.count;
    room = room.minus(job.ask.times(lease.count));
    leases.push_back(std::move(lease));
    if (choice->makes_room) break;
  }
  places_.show_again(hidden);
  return leases;
}

Lease Workers::grant_from(const Job& job, WorkerId worker, PollNumber poll, std::uint64_t want) {
  const GrantId id = journal_.new_grant();
  Jobs::HandedOut items = jobs_.hand_out(job.id, id, want, is_spot(records_.workers.at(worker).labels));
  if (items.count == 0) return {};
  records_.grants.emplace(id, Grant{id, job.id, worker, poll, items.first, items.count});
  grants_.add(id);
  now_.grant_left[id] = items.count;
  now_.in_hands.at(job.id).grants.insert(id);
  now_.worker_grants.at(worker).insert(id);
  restand(worker);
  jobs_.on_handed_out(job.id, worker, items.count);
  return {.grant = id,
          .job = job.id,
          .first = items.first,
          .count = items.count,
          .attempts = std::move(items.attempts),
          .timeout_ms = job.policy.timeout_ms,
          .grace_ms = job.policy.grace_ms,
          .ask = job.ask};
}

std::vector<StopOrder> Workers::stop_orders(WorkerId worker) {
  std::vector<StopOrder> orders;
  if (!std::exchange(now_.sessions.at(worker).stops_due, false)) return orders;
  for (const GrantId id : now_.worker_grants.at(worker)) {
    const Job& job = jobs_.at(records_.grants.at(id).job);
    if (job.stop == StopCause::none || !now_.in_hands.at(job.id).told_to_stop.insert(worker).second) continue;
    const bool at_once = job.stop == StopCause::cancelled || job.stop == StopCause::timed_out;
    orders.push_back({job.id, at_once ? StopMode::kill_running : StopMode::finish_running});
  }
  return orders;
}

void Workers::each_holder(JobId job, const std::function<void(WorkerId worker, std::uint64_t items)>& visit) const {
  for (const GrantId id : now_.in_hands.at(job).grants) visit(records_.grants.at(id).worker, now_.grant_left.at(id));
}

void Workers::on_stopped(JobId job) {
  JobInHands& hands = now_.in_hands.at(job);
  hands.told_to_stop.clear();
  if (!hands.grants.empty()) now_.just_stopped.push_back({job});
}

// Some of a stopped job's workers now, the others with the next commands.
void Workers::tell_to_stop() {
  std::size_t left = kMostGrantsTold;
  while (!now_.just_stopped.empty() && left > 0) {
    StoppedJob& stopped = now_.just_stopped.back();
    const auto hands = now_.in_hands.find(stopped.id);
    const bool is_stopped = hands != now_.in_hands.end() && jobs_.at(stopped.id).stop != StopCause::none;
    auto grant = is_stopped ? hands->second.grants.upper_bound(stopped.told_up_to) : std::set<GrantId>::iterator();
    for (; is_stopped && grant != hands->second.grants.end() && left > 0; ++grant, --left) {
      const WorkerId worker = records_.grants.at(*grant).worker;
      now_.sessions.at(worker).stops_due = true;
      now_.to_tell.insert(worker);
      stopped.told_up_to = *grant;
    }
    if (!is_stopped || grant == hands->second.grants.end()) now_.just_stopped.pop_back();
  }
}

bool Workers::holds_some_of(WorkerId worker, JobId job) const {
  return std::ranges::any_of(now_.worker_grants.at(worker),
                             [&](GrantId id) { return records_.grants.at(id).job == job; });
}

void Workers::note_running(WorkerId worker, const RunningAttempt& running) {
  const auto grant = records_.grants.find(running.token.grant);
  if (grant == records_.grants.end() || grant->second.worker != worker ||
      !jobs_.owns(grant->second, running.token.item)) {
    // It was out of reach for too long. Nobody else would ever tell it to stop.
    now_.sessions.at(worker).gone.insert(running.token);
    now_.to_tell.insert(worker);
    return;
  }
  jobs_.note_running(grant->second, running.token.item, running.started_ms);
}

void Workers::settle(WorkerId worker, const EndedAttempt& ended) {
  const auto found = records_.grants.find(ended.token.grant);
  // A late report changes nothing: somebody else holds the item by now, or it is settled.
  if (found == records_.grants.end() || found->second.worker != worker) return;
  const Grant grant = found->second;
  if (!jobs_.owns(grant, ended.token.item) && !injected(WorkerFault::late_report_believed)) return;
  const Jobs::Ended how = jobs_.settle(grant, ended);
  if (ended.slot != kNoSlot) judge(worker, grant.job, how);
  one_less(ended.token, how.ran_since_ms);
}

// The whole grant goes back. What its worker was known to run is lost, for this reason; what nobody saw running returns
// without a trace.
void Workers::release_grant(GrantId id, const char* reason) {
  const Grant grant = records_.grants.at(id);
  for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
    const ItemIndex item{grant.first.value + offset};
    if (!jobs_.owns(grant, item)) continue;
    const OpenItem* open = jobs_.find_open(grant.job, item);
    std::optional<std::int64_t> ran_since_ms;
    if (open == nullptr) {
      jobs_.make_pending(grant.job, item);
    } else if (open->counted) {
      ran_since_ms = jobs_.lose_running(grant, item, reason).ran_since_ms;
    } else {
      jobs_.make_waiting(grant.job, item);
    }
    one_less({id, item}, ran_since_ms);
  }
  DROVER_CHECK(!records_.grants.contains(id), "a released grant holds nothing");
}

// Items a worker took and will not start. At either end of a grant they shrink it; in its middle they get a row, since
// the grant goes on covering them. One that was named as running has begun: that attempt is lost.
void Workers::give_back(WorkerId worker, const std::vector<Token>& returned) {
  std::map<GrantId, std::set<ItemIndex>> by_grant;
  for (const Token& token : returned) by_grant[token.grant].insert(token.item);
  for (const auto& [id, items] : by_grant) {
    auto found = records_.grants.find(id);
    if (found == records_.grants.end() || found->second.worker != worker) continue;
    const Grant whole = found->second;
    for (const ItemIndex item : items) {
      if (!jobs_.owns(whole, item)) continue;
      const OpenItem* open = jobs_.find_open(whole.job, item);
      if (open == nullptr || !open->counted || injected(WorkerFault::returned_running_item_ignored)) continue;
      one_less({id, item}, jobs_.lose_running(whole, item, "lost: its worker returned it").ran_since_ms);
    }
    found = records_.grants.find(id);
    if (found == records_.grants.end()) continue;
    Grant& grant = found->second;

    std::vector<ItemIndex> back;
    std::optional<ItemIndex> low;
    ItemIndex high;
    for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
      const ItemIndex item{grant.first.value + offset};
      if (!jobs_.owns(grant, item)) continue;
      const OpenItem* open = jobs_.find_open(grant.job, item);
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
      grants_.add(id);
    }
    const JobId job = grant.job;
    for (const ItemIndex item : back) {
      const OpenItem* open = jobs_.find_open(job, item);
      if (open == nullptr && (!low || item < *low || item > high)) {
        jobs_.make_pending(job, item);
      } else {
        jobs_.make_waiting(job, item);
      }
      one_less({id, item});
    }
  }
}

// One item has left the grant: one that was known to run since a time, or not. With the last one the grant is over.
void Workers::one_less(Token item, std::optional<std::int64_t> ran_since_ms) {
  const GrantId id = item.grant;
  auto left = now_.grant_left.find(id);
  DROVER_CHECK(left != now_.grant_left.end() && left->second > 0, "a grant loses only what it holds");
  const auto grant = records_.grants.find(id);
  const JobId job = grant->second.job;
  places_.out_of_hands(jobs_.at(job), grant->second.worker, ran_since_ms);
  if (--left->second == 0) {
    const WorkerId worker = grant->second.worker;
    now_.in_hands.at(job).grants.erase(id);
    now_.worker_grants.at(worker).erase(id);
    restand(worker);
    now_.grant_left.erase(left);
    records_.grants.erase(grant);
    grants_.add(id);
    if (now_.sessions.at(worker).notes.contains(job) && !holds_some_of(worker, job)) drop_note(worker, job);
  }
  jobs_.on_given_back(job);
  listener_->on_attempt_over(item);
}

bool Workers::is_held(Token attempt) const {
  const auto grant = records_.grants.find(attempt.grant);
  return grant != records_.grants.end() && jobs_.owns(grant->second, attempt.item);
}

}  // namespace drover
