#include "core/core.h"

#include <algorithm>

#include "base/check.h"
#include "core/plant.h"

namespace drover {

Core::Core(Durable durable, std::int64_t now_ms) : durable_(std::move(durable)) {
  volatile_.now_ms = std::max(now_ms, durable_.counters.now_ms);
  for (const auto& [id, worker] : durable_.workers) {
    volatile_.worker_by_name[worker.name] = id;
    volatile_.worker_grants[id];
    set_kind(worker);
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
    std::uint64_t left = 0;
    for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
      left += owns(grant, ItemIndex{grant.first.value + offset}) ? 1 : 0;
    }
    volatile_.grant_left[id] = left;
  }
  // One that is not registered may still hold something, in a ledger that was restored: its time is up, too, one day.
  for (const auto& [id, worker] : durable_.workers) {
    const bool matters = worker.registered_ms != 0 || !volatile_.worker_grants.at(id).empty();
    if (matters && !planted(Plant::restart_forgets_terms)) renew(id);
  }
  for (auto& [id, job] : durable_.jobs) {
    if (job.ended()) continue;
    take_place(job);
    reconsider(job);
    volatile_.touched.insert(id);
  }
  wake_delayed();
}

void Core::apply(Ticket ticket, const Command& command, std::int64_t now_ms) {
  DROVER_CHECK(now_ms >= volatile_.now_ms, "time went back");
  volatile_.now_ms = now_ms;
  const std::uint64_t before = changes_.made();
  wake_delayed();
  std::visit([&](const auto& it) { on(ticket, it); }, command);
  tell_dependents();
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
  if (!volatile_.expiries.empty()) consider(volatile_.expiries.begin()->first);
  if (!volatile_.poll_deadlines.empty()) consider(volatile_.poll_deadlines.begin()->first);
  if (!volatile_.delayed.empty()) consider(std::get<0>(*volatile_.delayed.begin()));
  if (!volatile_.job_deadlines.empty()) consider(volatile_.job_deadlines.begin()->first);
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
