#include "sim/referee.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace drover::sim {
namespace {

// The doubt that is enough to set a worker apart (core/workers/quarantine.cc), and how often it may still be given
// items by polls that were on their way or parked by then. How many failures it tells of at once does not matter: it
// may have been cut off for long.
constexpr double kBitsOfDoubt = 31;
constexpr std::uint64_t kLeast = 8;
constexpr std::uint64_t kOnTheirWay = 2;
constexpr std::int64_t kQuickUs = 1'000'000;

std::uint64_t held_by(const Durable& durable, const Grant& grant) {
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < grant.count; ++i) {
    const ItemIndex item{grant.first.value + i};
    if (durable.blocks.at(grant.job).get(item) != ItemMark::open) continue;
    const OpenItem* open = durable.find_open(grant.job, item);
    held += open == nullptr || open->grant == grant.id ? 1 : 0;
  }
  return held;
}

}  // namespace

std::string Referee::name(const Core& core, JobId job) const {
  const Submit* submit = auditor_.submit_of(core.durable().jobs.at(job).uuid);
  return concat("job ", submit == nullptr ? 0 : submit->job);
}

void Referee::asked(Ticket ticket, const Command& command) {
  if (const auto* poll = std::get_if<Poll>(&command)) {
    questions_[ticket] = {poll->report.worker, poll->want, poll->room, poll->not_now};
  }
  // Whoever changes a queue or takes a job up again changes who is next, in the midst of a step.
  if (std::holds_alternative<SetQueue>(command) || std::holds_alternative<DropQueue>(command) ||
      std::holds_alternative<ReopenJob>(command) || std::holds_alternative<MarksRead>(command)) {
    queues_change_ = true;
  }
}

void Referee::server_stopped() {
  questions_.clear();
  streaks_.clear();
  queues_change_ = false;
}

void Referee::before_step(const Core& core) {
  const Durable& durable = core.durable();
  note_lost(core);
  offers_.clear();
  for (const JobId id : core.volatile_part().runnable) {
    const Job& job = durable.jobs.at(id);
    const Place& place = core.volatile_part().places.at(id);
    // One that may have only so many, or waits for items, is not on offer all the while.
    const bool comes_and_goes =
        job.max_running > 0 || std::ranges::any_of(job.after, [](const Dependency& it) { return it.each; });
    if (!place.offered || comes_and_goes) continue;
    const Queue* queue = durable.find_queue(job.place.queue);
    offers_.push_back({id,
                       queue == nullptr ? 1 : queue->priority,
                       place.share,
                       {kHighestPriority - job.place.priority, id},
                       place.is_sheltered() ? sheltered(demand_of(job, queue)) : demand_of(job, queue),
                       durable.blocks.at(id).count(ItemMark::pending),
                       core.volatile_part().jobs.at(id).ready});
  }
}

void Referee::after_step(const Core& core, const Step& step) {
  // What was handed out and taken back within a step was not on offer all the while.
  std::set<JobId> given;
  for (const Answer& answer : step.answers) {
    const auto* it = std::get_if<PollAnswer>(&answer.effect);
    if (it == nullptr) continue;
    for (const Lease& lease : it->leases) given.insert(lease.job);
  }
  if (queues_change_) offers_.clear();
  std::erase_if(offers_, [&](const Offer& it) {
    const Job* job = core.durable().find_job(it.job);
    if (job == nullptr || job->ended() || given.contains(it.job)) return true;
    return !core.volatile_part().places.at(it.job).offered || core.volatile_part().jobs.at(it.job).ready != it.ready ||
           core.durable().blocks.at(it.job).count(ItemMark::pending) != it.pending;
  });
  for (const Answer& answer : step.answers) {
    const auto question = questions_.find(answer.to);
    if (question == questions_.end()) continue;
    if (const auto* it = std::get_if<PollAnswer>(&answer.effect)) inspect_answer(core, question->second, *it);
    questions_.erase(question);
  }
  queues_change_ = false;
  inspect_hands(core);
  follow_streaks(step);
}

void Referee::inspect_answer(const Core& core, const Question& question, const PollAnswer& answer) {
  std::uint64_t given = 0;
  Resources room = question.room;
  bool over = false;
  for (const Lease& lease : answer.leases) {
    given += lease.count;
    if (over) auditor_.fail("something was given after an item that has to wait for its room");
    over = !lease.ask.times(lease.count).fits(room);
    if (over && lease.count > 1) auditor_.fail(concat(name(core, lease.job), ": more of it was given than has room"));
    if (std::ranges::find(question.not_now, lease.job) != question.not_now.end()) {
      auditor_.fail(concat(name(core, lease.job), ": given to a worker that asked not to be given it now"));
    }
    inspect_lease(core, question, lease);
    inspect_turn(core, question, lease, room);
    room = room.minus(lease.ask.times(lease.count));
  }
  if (given > question.want) auditor_.fail("a worker was given more items than it wanted");
  const auto streak = streaks_.find(question.worker);
  if (given > 0 && streak != streaks_.end() && streak->second.is_due && ++streak->second.since_due > kOnTheirWay) {
    auditor_.fail("a worker on which everything fails is still given items");
  }
}

void Referee::inspect_lease(const Core& core, const Question& question, const Lease& lease) {
  const Durable& durable = core.durable();
  const Job& job = durable.jobs.at(lease.job);
  if (is_spot(durable.workers.at(question.worker).labels)) inspect_spot_lease(core, job, lease);
  const Queue* queue = durable.find_queue(job.place.queue);
  if (!queues_change_ && queue != nullptr && !queue->enabled) {
    auditor_.fail(concat(name(core, job.id), ": handed out although its queue is disabled"));
  }
  for (const Dependency& it : job.after) {
    const Job* other = durable.find_job(it.job);
    if (!it.each && (other == nullptr || other->state != JobState::succeeded)) {
      auditor_.fail(concat(name(core, job.id), ": handed out before the job it comes after has succeeded"));
    }
  }
}

// Items that must not run on spot machines, or not yet again.
void Referee::inspect_spot_lease(const Core& core, const Job& job, const Lease& lease) {
  if (job.spot.use == SpotUse::never) auditor_.fail(concat(name(core, job.id), ": handed to a spot machine"));
  const std::uint32_t most_losses = job.spot.on_demand_after_losses;
  if (job.spot.use != SpotUse::prefer || most_losses == 0) return;
  for (std::uint64_t i = 0; i < lease.count; ++i) {
    const ItemIndex item{lease.first.value + i};
    const auto since = lost_since_.find({job.id, item});
    const OpenItem* open = core.durable().find_open(job.id, item);
    if (since == lost_since_.end() || open == nullptr || open->losses < most_losses) continue;
    if (since->second + job.spot.on_demand_after_ms > core.now_ms()) {
      auditor_.fail(concat(name(core, job.id), ":", item.value, ": lost too often, and handed to a spot machine"));
    }
  }
}

// Those that waited before the step, since when.
void Referee::note_lost(const Core& core) {
  lost_since_.clear();
  for (const auto& [key, item] : core.durable().open_items) {
    if (item.waiting() && item.losses > 0) lost_since_[key] = item.not_before_ms;
  }
  const auto& ends = core.volatile_part().shelter_ends;
  const bool is_calm = core.next_deadline().value_or(core.now_ms() + 1) > core.now_ms();
  if (is_calm && !ends.empty() && std::get<0>(*ends.begin()) <= core.now_ms()) {
    auditor_.fail("an item is kept from spot machines for longer than its job says");
  }
}

// `room` is what was left when it was this lease's turn.
void Referee::inspect_turn(const Core& core, const Question& question, const Lease& lease, const Resources& room) {
  const Job& job = core.durable().jobs.at(lease.job);
  const Place& index = core.volatile_part().places.at(lease.job);
  if (!index.scheduled) return;  // it has ended within the step
  const Queue* queue = core.durable().find_queue(job.place.queue);
  const std::uint32_t priority = queue == nullptr ? 1 : queue->priority;
  const Schedule::Rank rank{kHighestPriority - job.place.priority, job.id};
  const Worker& taker = core.durable().workers.at(question.worker);
  for (const Offer& other : offers_) {
    const bool comes_first = other.queue_priority > priority || (other.share == index.share && other.rank < rank);
    if (std::ranges::find(question.not_now, other.job) != question.not_now.end()) continue;
    if (!comes_first || !other.demand.ask.fits(room) || !supply_of(taker).suits(other.demand)) continue;
    const Schedule::Share& share = core.volatile_part().schedule.at(other.share);
    if (share.lane->reserved_percent > 0) continue;  // what is kept for others may have kept it
    return auditor_.fail(concat(name(core, other.job), ": overtaken by ", name(core, job.id)));
  }
}

void Referee::inspect_hands(const Core& core) {
  const Durable& durable = core.durable();
  std::map<JobId, std::uint64_t> in_hands;
  for (const auto& [id, grant] : durable.grants) {
    const Submit* submit = auditor_.submit_of(durable.jobs.at(grant.job).uuid);
    if (submit == nullptr || submit->most_running() == 0) continue;
    std::uint64_t& of_job = in_hands[grant.job];
    of_job += held_by(durable, grant);
    if (of_job > submit->most_running()) {
      auditor_.fail(concat("job ", submit->job, ": more of it is in workers' hands than may be"));
    }
    if (!submit->sequential) continue;
    const ItemBlocks& blocks = durable.blocks.at(grant.job);
    for (const ItemMark mark : {ItemMark::pending, ItemMark::open}) {
      const auto first = blocks.find(mark, ItemIndex{0});
      if (first && *first < grant.first) auditor_.fail(concat("job ", submit->job, ": its items are not in order"));
    }
  }
}

void Referee::follow_streaks(const Step& step) {
  for (const Mutation& mutation : step.batch.mutations) {
    if (const auto* it = std::get_if<AddAttempt>(&mutation)) take(it->attempt);
  }
  // A batch does not tell which of its changes came first: what was before belongs to the streak that is over. It is
  // over also for a worker that was lost, even if it has come back within the batch.
  std::set<std::string> lost;
  for (const Mutation& mutation : step.batch.mutations) {
    const auto* it = std::get_if<AddEvent>(&mutation);
    if (it != nullptr && it->event.kind == EventKind::worker_lost) lost.insert(it->event.name);
  }
  for (const Mutation& mutation : step.batch.mutations) {
    const auto* it = std::get_if<PutWorker>(&mutation);
    if (it == nullptr) continue;
    std::uint64_t& incarnation = incarnations_[it->worker.id];
    const bool is_over = incarnation != it->worker.incarnation || !it->worker.quarantine.empty() ||
                         !it->worker.is_present() || lost.contains(it->worker.name);
    if (is_over) streaks_.erase(it->worker.id);
    incarnation = it->worker.incarnation;
  }
}

// Streaks are counted as in core/workers/quarantine.cc, but in floating point, and of quick failures only those that
// are quick beside any job.
void Referee::take(const Attempt& row) {
  if (row.state == AttemptState::succeeded) {
    streaks_.erase(row.worker);
    for (auto& [worker, streak] : streaks_) {
      if (const auto job = streak.jobs.find(row.job); job != streak.jobs.end()) ++job->second.successes;
    }
    return;
  }
  if (row.state != AttemptState::failed || row.ending == Ending::timed_out || row.ending == Ending::lost) return;
  for (auto& [worker, streak] : streaks_) {
    if (worker == row.worker) continue;
    if (const auto job = streak.jobs.find(row.job); job != streak.jobs.end()) ++job->second.failures;
  }
  if (row.wall_us > kQuickUs) return;
  Streak& streak = streaks_[row.worker];
  ++streak.jobs[row.job].own;
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;
  std::uint64_t own = 0;
  for (const auto& [job, it] : streak.jobs) {
    if (it.successes == 0) continue;
    successes += it.successes;
    failures += it.failures;
    own += it.own;
  }
  const double odds = static_cast<double>(successes + failures + 2) / static_cast<double>(failures + 1);
  streak.is_due = own >= kLeast && successes >= kLeast && static_cast<double>(own) * std::log2(odds) >= kBitsOfDoubt;
  if (!streak.is_due) streak.since_due = 0;
}

}  // namespace drover::sim
