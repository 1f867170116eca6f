#include "core/core.h"

#include <algorithm>

#include "base/check.h"
#include "core/plant.h"

namespace drover {

Core::Core(Durable durable, std::int64_t now_ms) : durable_(std::move(durable)) {
  volatile_.now_ms = std::max(now_ms, durable_.counters.now_ms);
  for (auto& [id, worker] : durable_.workers) {
    volatile_.worker_by_name[worker.name] = id;
    volatile_.worker_grants[id];
    volatile_.sessions[id];
    const bool revived = planted(Plant::restart_revives_lost_workers) && worker.state == WorkerState::lost;
    if (worker.is_present() || revived) appear(worker);
  }
  for (const auto& [id, job] : durable_.jobs) {
    volatile_.jobs[id];
    volatile_.job_by_uuid[job.uuid] = id;
    for (const Dependency& it : job.after) volatile_.named_by[it.job].insert(id);
  }
  for (const auto& [key, item] : durable_.open_items) {
    if (item.waiting()) volatile_.delayed.insert({item.not_before_ms, item.job, item.item});
  }
  for (const auto& [id, grant] : durable_.grants) {
    volatile_.jobs.at(grant.job).grants.insert(id);
    volatile_.worker_grants[grant.worker].insert(id);
    // A poll that was answered before may come again. A second grant by its number would never go back: the worker
    // knows of one answer only, and does not give the poll up.
    PollNumber& last_poll = volatile_.sessions[grant.worker].last_poll;
    if (!planted(Plant::restart_forgets_polls)) last_poll = std::max(last_poll, grant.poll);
    std::uint64_t left = 0;
    for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
      left += owns(grant, ItemIndex{grant.first.value + offset}) ? 1 : 0;
    }
    volatile_.grant_left[id] = left;
  }
  for (const WorkerId id : volatile_.present) restand(id);
  // One that is not registered may still hold something, in a ledger that was restored: its time is up, too, one day.
  for (const auto& [id, worker] : durable_.workers) {
    if (!worker.is_present() && volatile_.worker_grants.at(id).empty()) {
      wait_to_be_forgotten(id, worker.gone_ms != 0 ? worker.gone_ms : volatile_.now_ms);
    } else if (!planted(Plant::restart_forgets_terms)) {
      set_expiry(id, volatile_.sessions.at(id), worker.term_ms == 0 ? 0 : volatile_.now_ms + worker.term_ms);
    }
  }
  for (auto& [id, job] : durable_.jobs) {
    if (job.ended()) continue;
    take_place(job);
    reconsider(job);
    volatile_.touched.insert(id);
  }
  // Not all of those that come after it may have heard of a job's end.
  for (const auto& [id, dependents] : volatile_.dependents) {
    const Job* job = durable_.find_job(id);
    if (job != nullptr && job->ended()) volatile_.just_ended.push_back({id});
  }
  wake_delayed();
  volatile_.turned_up.clear();  // nobody waits yet
}

void Core::apply(Ticket ticket, const Command& command, std::int64_t now_ms) {
  DROVER_CHECK(now_ms >= volatile_.now_ms, "time went back");
  volatile_.now_ms = now_ms;
  const std::uint64_t before = changes_.made();
  free_some_blocks();
  wake_delayed();
  std::visit([&](const auto& it) { on(ticket, it); }, command);
  tell_dependents();
  tell_workers_to_stop();
  serve_parked();
  // That time has passed is by itself not worth a trip to the disk.
  if (changes_.made() == before || now_ms == durable_.counters.now_ms) return;
  durable_.counters.now_ms = now_ms;
  changes_.counters();
}

std::vector<Answer> Core::take_answers() {
  return std::exchange(answers_, {});
}

std::vector<Mutation> Core::take_mutations() {
  std::vector<Mutation> mutations = changes_.take(durable_);
  let_go_of_blocks();
  for (const Mutation& mutation : mutations) {
    if (const auto* put = std::get_if<PutJob>(&mutation)) volatile_.touched.insert(put->job.id);
  }
  return mutations;
}

std::vector<JobId> Core::take_touched() {
  const std::set<JobId> touched = std::exchange(volatile_.touched, {});
  return {touched.begin(), touched.end()};
}

// What is in a worker's hands and not named as running waits there: to people it is pending.
ItemCounts Core::counts(JobId id) const {
  const Job& job = durable_.jobs.at(id);
  const JobIndex& index = volatile_.jobs.at(id);
  ItemCounts counts{.succeeded = job.succeeded, .failed = job.failed, .cancelled = job.cancelled};
  const std::uint64_t left = job.total - job.succeeded - job.failed - job.cancelled;
  if (job.ended()) {
    counts.cancelled += left;
    return counts;
  }
  counts.waiting = durable_.blocks.at(id).count(ItemMark::open) - index.in_hands;
  counts.running = index.running;
  counts.pending = left - counts.waiting - counts.running;
  return counts;
}

std::optional<std::int64_t> Core::next_deadline() const {
  std::optional<std::int64_t> soonest;
  const auto consider = [&](std::int64_t at_ms) { soonest = soonest ? std::min(*soonest, at_ms) : at_ms; };
  if (!volatile_.expiries.empty()) consider(volatile_.expiries.begin()->first + volatile_.stalled_ms);
  if (!volatile_.departed.empty()) consider(volatile_.departed.begin()->first + kDepartedKeptMs);
  if (!volatile_.poll_deadlines.empty()) consider(volatile_.poll_deadlines.begin()->first);
  if (!volatile_.delayed.empty()) consider(std::get<0>(*volatile_.delayed.begin()));
  if (!volatile_.job_deadlines.empty()) consider(volatile_.job_deadlines.begin()->first);
  // Something was left for the next command, or was said as the core began.
  const bool is_left = !volatile_.just_ended.empty() || !volatile_.just_stopped.empty() || !volatile_.to_tell.empty() ||
                       !volatile_.turned_up.empty() || !volatile_.unneeded.empty();
  if (is_left || !answers_.empty()) consider(volatile_.now_ms);
  return soonest;
}

void Core::note(EventKind kind, const Job& job, std::string detail) {
  changes_.counters();
  changes_.add(Event{EventId{durable_.counters.next_event++}, volatile_.now_ms, kind, job.uuid.text(), job.name,
                     std::move(detail)});
}

void Core::note(EventKind kind, const std::string& name, std::string detail) {
  changes_.counters();
  changes_.add(Event{EventId{durable_.counters.next_event++}, volatile_.now_ms, kind, {}, name, std::move(detail)});
}

void Core::refuse(Ticket to, ErrorCode code, std::string message, std::string next) {
  say(to, Refused{Error{code, std::move(message), std::move(next)}});
}

void Core::put(const OpenItem& item) {
  durable_.open_items.insert_or_assign({item.job, item.item}, item);
  changes_.open_item(item.job, item.item);
}

void Core::set_mark(JobId job, ItemIndex item, ItemMark mark) {
  durable_.blocks.at(job).set(item, mark);
  changes_.block(job, item);
}

}  // namespace drover
