#include "core/workers/workers.h"

#include <algorithm>

#include "core/record_hash.h"
#include "core/workers/worker_faults.h"

namespace drover {

Result<void> WorkerRecords::restore(const PutGrant& put, const JobRecords& jobs) {
  const Job* job = jobs.find_job(put.grant.job);
  if (job == nullptr || put.grant.first.value + put.grant.count > job->total) {
    return contradicts_itself(concat("grant ", put.grant.id.value, " is outside its job"));
  }
  grants.insert_or_assign(put.grant.id, put.grant);
  return {};
}

Result<void> WorkerRecords::restore(const PutWorker& put) {
  workers.insert_or_assign(put.worker.id, put.worker);
  return {};
}

void WorkerRecords::add_to(Hasher& hasher) const {
  for (const auto& [id, grant] : grants) add_record(hasher, grant);
  for (const auto& [id, worker] : workers) add_record(hasher, worker);
}

void Workers::load() {
  for (auto& [id, worker] : records_.workers) {
    now_.worker_by_name[worker.name] = id;
    now_.worker_grants[id];
    now_.sessions[id];
    const bool revived = injected(WorkerFault::restart_revives_lost_workers) && worker.state == WorkerState::lost;
    if (worker.is_present() || revived) appear(worker);
  }
  for (const auto& [id, grant] : records_.grants) {
    now_.in_hands.at(grant.job).grants.insert(id);
    now_.worker_grants[grant.worker].insert(id);
    // A poll that was answered before may come again. A second grant by its number would never go back: the worker
    // knows of one answer only, and does not give the poll up.
    PollState& polls = now_.sessions[grant.worker].polls;
    if (!injected(WorkerFault::restart_forgets_polls)) polls.recall(grant.poll);
    std::uint64_t left = 0;
    for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
      left += jobs_.owns(grant, ItemIndex{grant.first.value + offset}) ? 1 : 0;
    }
    now_.grant_left[id] = left;
  }
  for (const WorkerId id : now_.present) restand(id);
  // One that is not registered may still hold something, in a ledger that was restored: its time is up, too, one day.
  for (const auto& [id, worker] : records_.workers) {
    if (!worker.is_present() && now_.worker_grants.at(id).empty()) {
      wait_to_be_forgotten(id, worker.gone_ms != 0 ? worker.gone_ms : journal_.now_ms());
    } else if (!injected(WorkerFault::restart_forgets_terms)) {
      set_expiry(id, now_.sessions.at(id), worker.term_ms == 0 ? 0 : journal_.now_ms() + worker.term_ms);
    }
  }
}

std::optional<std::int64_t> Workers::next_deadline() const {
  std::optional<std::int64_t> soonest;
  const auto consider = [&](std::int64_t at_ms) { soonest = soonest ? std::min(*soonest, at_ms) : at_ms; };
  if (!now_.expiries.empty()) {
    consider(std::max(now_.expiries.begin()->first + now_.stalled_ms, now_.spared_until_ms));
  }
  if (!now_.departed.empty()) consider(now_.departed.begin()->first + kDepartedKeptMs);
  if (!now_.poll_deadlines.empty()) consider(now_.poll_deadlines.begin()->first);
  return soonest;
}

void Workers::take_changes(std::vector<Mutation>& out) {
  grants_.take<PutGrant>(records_.grants, out, [](GrantId id) { return DeleteGrant{id}; });
  workers_.take<PutWorker>(records_.workers, out);
}

void Workers::take_deletions(std::vector<Mutation>& out) {
  for (FormerWorker& worker : std::exchange(forgotten_, {})) out.emplace_back(ForgetWorker{std::move(worker)});
}

}  // namespace drover
