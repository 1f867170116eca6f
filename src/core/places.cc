// A job's place among others: when it has something to hand out, what it waits for, and what its share has used.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {
namespace {

constexpr std::int64_t kLongestPlannedMs = 1'000'000'000;
constexpr std::int64_t kLongestSettledMs = 1'000'000'000'000;  // no attempt is charged for more than thirty years
constexpr std::size_t kMostJobsTold = 48;                      // jobs that hear of another one's end at a time

Schedule::Rank rank_of(const Job& job) {
  return {kHighestPriority - job.place.priority, job.id};
}

// What one item is charged for; more than a million CPUs are nobody's.
std::uint64_t charged_milli_cpus(const Job& job) {
  return std::min<std::uint64_t>(job.ask.milli_cpus, 1'000'000'000);
}

std::uint64_t saturating(std::uint64_t milli_cpus, std::uint64_t count) {
  return Resources{.milli_cpus = milli_cpus}.times(count).milli_cpus;
}

}  // namespace

Schedule::Lane& Core::lane_of(const std::string& queue) {
  if (Schedule::Lane* known = volatile_.schedule.find_lane(queue)) return *known;
  const Queue* record = durable_.find_queue(queue);
  // A queue is dropped only when no job that could be reopened is left in it; a store may say otherwise.
  return volatile_.schedule.set_lane(record != nullptr ? *record : Queue{.name = queue});
}

// The job takes its place, with whatever of it is in workers' hands.
void Core::take_place(const Job& job) {
  JobIndex& index = volatile_.jobs.at(job.id);
  if (index.scheduled) return;
  Schedule& schedule = volatile_.schedule;
  Schedule::Lane& lane = lane_of(job.place.queue);
  const std::string name = lane.fair ? job.place.share : std::string();
  index.share = schedule.share(lane, name);
  Schedule::Share& share = schedule.at(index.share);
  const bool is_first = share.jobs.empty();
  share.jobs.insert(job.id);
  if (is_first) {
    const Queue* queue = durable_.find_queue(job.place.queue);
    share.weight = queue == nullptr ? ShareWeight::kOne : queue->weight_of(name);
    const auto record = durable_.shares.find({job.place.queue, name});
    share.settled = record == durable_.shares.end() ? Wide{0} : record->second.used.value();
  }
  index.of = schedule.enter(demand_of(job, durable_.find_queue(job.place.queue)));
  index.scheduled = true;
  volatile_.runnable.insert(job.id);
  for (const Dependency& it : job.after) volatile_.dependents[it.job].insert(job.id);
  count_item_dependent(job, true);
  if (job.job_timeout_ms > 0 && job.started_ms > 0) {
    volatile_.job_deadlines.insert({job.started_ms + job.job_timeout_ms, job.id});
  }
  count_unmet(job);
  for (const GrantId id : index.grants) into_hands(job, durable_.grants.at(id).worker, volatile_.grant_left.at(id));
  // Nothing runs that is in nobody's hands; very many may wait.
  auto item =
      index.grants.empty() ? durable_.open_items.end() : durable_.open_items.lower_bound({job.id, ItemIndex{0}});
  for (; item != durable_.open_items.end() && item->first.first == job.id; ++item) {
    if (item->second.counted) begins_to_run(job, item->second.started_ms);
  }
  schedule.reorder(index.share, volatile_.now_ms);
}

// The opposite: it has ended, or is about to take another place.
void Core::leave_place(const Job& job) {
  JobIndex& index = volatile_.jobs.at(job.id);
  if (!index.scheduled) return;
  Schedule& schedule = volatile_.schedule;
  if (std::exchange(index.offered, false)) schedule.withdraw(index.of, index.share, rank_of(job));
  auto item = durable_.open_items.lower_bound({job.id, ItemIndex{0}});
  for (; index.running > 0 && item != durable_.open_items.end() && item->first.first == job.id; ++item) {
    if (item->second.counted) runs_no_more(job, item->second.started_ms);
  }
  for (const GrantId id : index.grants) {
    const WorkerId worker = durable_.grants.at(id).worker;
    for (std::uint64_t i = 0; i < volatile_.grant_left.at(id); ++i) out_of_hands(job, worker, std::nullopt);
  }
  if (job.job_timeout_ms > 0) volatile_.job_deadlines.erase({job.started_ms + job.job_timeout_ms, job.id});
  for (const Dependency& it : job.after) {
    const auto dependents = volatile_.dependents.find(it.job);
    if (dependents == volatile_.dependents.end()) continue;
    dependents->second.erase(job.id);
    if (dependents->second.empty()) volatile_.dependents.erase(dependents);
  }
  count_item_dependent(job, false);
  volatile_.runnable.erase(job.id);
  schedule.leave(index.of);
  schedule.at(index.share).jobs.erase(job.id);
  if (schedule.at(index.share).jobs.empty()) schedule.drop_share(index.share);
  index.scheduled = false;
  index.of = index.share = Schedule::kNone;
}

void Core::into_hands(const Job& job, WorkerId worker, std::uint64_t count) {
  JobIndex& index = volatile_.jobs.at(job.id);
  Schedule::Share& share = volatile_.schedule.at(index.share);
  index.in_hands += count;
  volatile_.touched.insert(job.id);
  volatile_.sessions[worker].held[index.of] += static_cast<std::uint32_t>(count);
  if (share.items == 0 && count > 0) {
    ++share.lane->active_shares;
    if (share.lane->reserved_percent > 0) less_is_kept(*share.lane);
  }
  const std::uint64_t milli_cpus = saturating(job.ask.milli_cpus, count);
  share.items += count;
  share.milli_cpus += milli_cpus;
  share.lane->milli_cpus += milli_cpus;
  share.planned += Wide{milli_cpus} * share.lane->in_flight_ms(index.planned_ms);
  volatile_.schedule.touch(*share.lane);
  volatile_.schedule.reorder(index.share, volatile_.now_ms);
}

void Core::out_of_hands(const Job& job, WorkerId worker, std::optional<std::int64_t> ran_since_ms) {
  JobIndex& index = volatile_.jobs.at(job.id);
  Schedule::Share& share = volatile_.schedule.at(index.share);
  if (ran_since_ms) runs_no_more(job, *ran_since_ms);
  --index.in_hands;
  volatile_.touched.insert(job.id);
  Schedule::Held& held = volatile_.sessions.at(worker).held;
  if (--held.at(index.of) == 0) held.erase(index.of);
  if (--share.items == 0) --share.lane->active_shares;
  share.milli_cpus -= job.ask.milli_cpus;
  share.lane->milli_cpus -= job.ask.milli_cpus;
  share.planned -= Wide{job.ask.milli_cpus} * share.lane->in_flight_ms(index.planned_ms);
  volatile_.schedule.touch(*share.lane);
  volatile_.schedule.reorder(index.share, volatile_.now_ms);
  // What was kept for others may be given by now.
  if (share.lane->reserved_percent > 0) less_is_kept(*share.lane);
}

void Core::less_is_kept(const Schedule::Lane& lane) {
  for (const auto& [of, shares] : lane.offered) volatile_.turned_up.insert(of);
}

void Core::begins_to_run(const Job& job, std::int64_t started_ms) {
  ++volatile_.jobs.at(job.id).running;
  volatile_.touched.insert(job.id);
  count_running(job, started_ms);
}

void Core::count_running(const Job& job, std::int64_t started_ms) {
  Schedule::Share& share = volatile_.schedule.at(volatile_.jobs.at(job.id).share);
  share.running += charged_milli_cpus(job);
  share.running_sum += Wide{charged_milli_cpus(job)} * share.lane->sum_at(started_ms);
}

void Core::runs_no_more(const Job& job, std::int64_t started_ms) {
  --volatile_.jobs.at(job.id).running;
  Schedule::Share& share = volatile_.schedule.at(volatile_.jobs.at(job.id).share);
  share.running -= charged_milli_cpus(job);
  share.running_sum -= Wide{charged_milli_cpus(job)} * share.lane->sum_at(started_ms);
}

// What an attempt has used is written down: for its job, and for its share.
void Core::charge(Job& job, const Attempt& row) {
  const std::int64_t wall_ms = std::clamp<std::int64_t>((row.wall_us + 500) / 1000, 0, kLongestSettledMs);
  const auto milli_cpus = static_cast<std::int64_t>(charged_milli_cpus(job));
  const std::int64_t asked_mib = static_cast<std::int64_t>(job.ask.memory_bytes >> 20);
  std::int64_t accelerators = 0;
  for (const std::uint64_t count : job.ask.accelerators)
    accelerators += static_cast<std::int64_t>(std::min<std::uint64_t>(count, 1'000'000));
  const bool wasted = row.state == AttemptState::failed || row.state == AttemptState::lost;
  JobUsage usage;
  usage.cpu_ms = std::clamp<std::int64_t>((row.user_us + row.system_us + 500) / 1000, 0, kLongestSettledMs);
  usage.reserved_cpu_ms =
      static_cast<std::int64_t>(Wide{charged_milli_cpus(job)} * static_cast<std::uint64_t>(wall_ms) / 1000);
  usage.memory_mib_s = std::min(std::max(asked_mib, row.peak_memory_kib >> 10), std::int64_t{1} << 22) * wall_ms / 1000;
  usage.accelerator_ms = accelerators * wall_ms;
  if (wasted) {
    usage.wasted_cpu_ms = usage.cpu_ms;
    usage.wasted_reserved_ms = usage.reserved_cpu_ms;
  }
  usage.attempts = 1;
  usage.failed_attempts = row.state == AttemptState::failed ? 1 : 0;
  usage.lost_attempts = row.state == AttemptState::lost ? 1 : 0;
  job.used += usage;
  changes_.job(job.id);

  JobIndex& index = volatile_.jobs.at(job.id);
  Schedule::Share& share = volatile_.schedule.at(index.share);
  // What the next ones are expected to take.
  const std::int64_t planned_ms = std::clamp<std::int64_t>(
      std::exchange(index.has_ended_some, true) ? (index.planned_ms * 7 + wall_ms) / 8 : wall_ms, 1, kLongestPlannedMs);
  if (planned_ms != index.planned_ms) {
    const Wide all = Wide{job.ask.milli_cpus} * index.in_hands;
    share.planned =
        share.planned - all * share.lane->in_flight_ms(index.planned_ms) + all * share.lane->in_flight_ms(planned_ms);
    index.planned_ms = planned_ms;
  }
  share.next = Wide{job.ask.milli_cpus} * share.lane->in_flight_ms(planned_ms);
  if (!share.lane->fair) return;
  age_usage(job.place.queue, *share.lane);
  const Schedule::Lane& lane = *share.lane;
  const auto cpus = static_cast<std::uint64_t>(milli_cpus);
  const Wide by_moments = Wide{cpus} * (lane.sum_at(volatile_.now_ms) - lane.sum_at(volatile_.now_ms - wall_ms));
  if (!planted(Plant::usage_forgotten)) share.settled += (by_moments >> 16) * share.weight;
  ShareRecord& record = durable_.shares[{job.place.queue, share.name}];
  if (record.since_ms == 0) record = {job.place.queue, share.name, {}, volatile_.now_ms};
  record.used = Charge::of(share.settled);
  changes_.share(job.place.queue, share.name);
}

// Usage is kept in units that grow, so that what is old counts less without being touched. Before they have grown too
// far, all begin anew.
void Core::age_usage(const std::string& name, Schedule::Lane& lane) {
  const std::int64_t doublings = (volatile_.now_ms - lane.usage_from_ms) / lane.decay_ms;
  if (lane.usage_from_ms > 0 && doublings < kMostDoublings) return;
  auto queue = durable_.queues.try_emplace(name, Queue{.name = name}).first;
  const int shift = lane.usage_from_ms == 0 ? 0 : static_cast<int>(std::min<std::int64_t>(doublings, 127));
  lane.usage_from_ms = lane.usage_from_ms == 0 ? volatile_.now_ms : lane.usage_from_ms + doublings * lane.decay_ms;
  queue->second.usage_from_ms = lane.usage_from_ms;
  changes_.queue(name);
  auto record = durable_.shares.lower_bound({name, ""});
  while (record != durable_.shares.end() && record->first.first == name) {
    record->second.used = Charge::of(record->second.used.value() >> shift);
    changes_.share(name, record->first.second);
    const auto live = lane.shares.find(record->first.second);
    if (live != lane.shares.end()) volatile_.schedule.at(live->second).settled = record->second.used.value();
    const bool forgotten = record->second.used.value() == 0 && live == lane.shares.end();
    record = forgotten ? durable_.shares.erase(record) : std::next(record);
  }
  // What runs was counted in the units before.
  for (const auto& [name_of, id] : lane.shares) {
    Schedule::Share& share = volatile_.schedule.at(id);
    share.running = 0;
    share.running_sum = 0;
  }
  for (const auto& [key, item] : durable_.open_items) {
    const Job& job = durable_.jobs.at(key.first);
    if (item.counted && job.place.queue == name) count_running(job, item.started_ms);
  }
  for (const auto& [share, id] : lane.shares) volatile_.schedule.reorder(id, volatile_.now_ms);
}

bool Core::waits_for_items(const Job& job) {
  return std::ranges::any_of(job.after, [](const Dependency& it) { return it.each; });
}

// Whether the items of the same number have succeeded. Of a job that is no longer known, and had not succeeded, none
// counts as such.
bool Core::is_unlocked(const Job& job, ItemIndex item) const {
  return std::ranges::all_of(job.after, [&](const Dependency& it) {
    if (!it.each || planted(Plant::item_dependency_ignored)) return true;
    return durable_.has_succeeded(it.job, item);
  });
}

void Core::count_unmet(const Job& job) {
  JobIndex& index = volatile_.jobs.at(job.id);
  index.unmet = 0;
  index.unlocked.clear();
  index.unlocked_from = 0;
  for (const Dependency& it : job.after) {
    const Job* other = durable_.find_job(it.job);
    if (planted(Plant::dependency_ignored)) continue;
    if (!it.each && (other == nullptr || other->state != JobState::succeeded)) ++index.unmet;
  }
}

// Something in the block may be handed out by now.
void Core::look_again(JobIndex& index, std::uint64_t block) {
  if (block < index.unlocked_from) index.unlocked.insert(block);
}

// What a job may hand out right now, if its queue lets it.
bool Core::has_work(const Job& job) {
  const JobIndex& index = volatile_.jobs.at(job.id);
  if (job.max_running > 0 && index.in_hands >= job.max_running) return false;
  const ItemBlocks& blocks = durable_.blocks.at(job.id);
  if (job.sequential && job.reopening) return false;  // an earlier one may be among those yet to be reopened
  if (job.sequential && blocks.count(ItemMark::open) > 0) {
    const auto first = blocks.find(ItemMark::open, ItemIndex{0});
    return first && index.ready.contains(*first);  // else an earlier one waits
  }
  if (!index.ready.empty()) return true;
  if (blocks.count(ItemMark::pending) == 0) return false;
  return !waits_for_items(job) || untouched(job, 1).second > 0;
}

// The one place that decides whether a job is offered to those who look for work. To be called after whatever might
// change that.
void Core::reconsider(Job& job) {
  JobIndex& index = volatile_.jobs.at(job.id);
  if (!index.scheduled) return;
  const Queue* queue = durable_.find_queue(job.place.queue);
  const bool is_served = queue == nullptr || queue->enabled || planted(Plant::disabled_queue_served);
  const bool may = job.stop == StopCause::none && index.unmet == 0 && is_served;
  const bool offers = may && has_work(job);
  if (offers != index.offered) {
    index.offered = offers;
    if (offers) {
      volatile_.schedule.offer(index.of, index.share, rank_of(job));
      volatile_.turned_up.insert(index.of);
    } else {
      volatile_.schedule.withdraw(index.of, index.share, rank_of(job));
    }
  }
  ask_for_page(job);
  if (may && !offers) end_if_starved(job);
}

// Out of the schedule, for as long as somebody chooses who does not want them.
std::vector<JobId> Core::hide(const std::vector<JobId>& jobs) {
  std::vector<JobId> hidden;
  for (const JobId id : jobs) {
    const auto index = volatile_.jobs.find(id);
    if (index == volatile_.jobs.end() || !index->second.offered) continue;
    volatile_.schedule.withdraw(index->second.of, index->second.share, rank_of(durable_.jobs.at(id)));
    index->second.offered = false;
    hidden.push_back(id);
  }
  return hidden;
}

void Core::show_again(const std::vector<JobId>& hidden) {
  for (const JobId id : hidden) {
    JobIndex& index = volatile_.jobs.at(id);
    volatile_.schedule.offer(index.of, index.share, rank_of(durable_.jobs.at(id)));
    index.offered = true;
  }
}

// Its items wait for items that will never succeed.
void Core::end_if_starved(Job& job) {
  const JobIndex& index = volatile_.jobs.at(job.id);
  if (!waits_for_items(job) || job.reopening || index.in_hands > 0 ||
      durable_.blocks.at(job.id).count(ItemMark::open) > 0)
    return;
  const std::uint64_t waiting = durable_.blocks.at(job.id).count(ItemMark::pending);
  if (waiting == 0) return;
  std::string failed;
  for (const Dependency& it : job.after) {
    if (!it.each) continue;
    const Job* other = durable_.find_job(it.job);
    if (other != nullptr && !other->ended()) return;
    if (other == nullptr || other->state != JobState::succeeded)
      failed = other == nullptr ? "(no longer known)" : other->name;
  }
  if (failed.empty()) return;
  stop(job, StopCause::dependency,
       concat(plural(waiting, "item"), waiting == 1 ? " waits" : " wait", " for items of job ", failed,
              " that did not succeed"));
}

// Those that come after a job hear of its end: some now, the others with the next commands.
void Core::tell_dependents() {
  std::size_t left = kMostJobsTold;
  while (!volatile_.just_ended.empty() && left > 0) {
    EndedJob ended = volatile_.just_ended.back();
    volatile_.just_ended.pop_back();
    for (; left > 0; --left) {
      // Whoever hears of it may end by it, and is then no longer among them.
      const auto found = volatile_.dependents.find(ended.id);
      const Job* job = durable_.find_job(ended.id);
      if (found == volatile_.dependents.end() || job == nullptr || !job->ended()) break;
      const auto next = found->second.upper_bound(ended.told_up_to);
      if (next == found->second.end()) break;
      ended.told_up_to = *next;
      tell_dependent(job_at(*next), *job);
    }
    if (left == 0) volatile_.just_ended.push_back(ended);
  }
}

void Core::tell_dependent(Job& job, const Job& ended) {
  if (job.ended() || job.stop != StopCause::none) return;
  const bool wants_success =
      std::ranges::any_of(job.after, [&](const Dependency& it) { return it.job == ended.id && !it.each; });
  if (wants_success && ended.state != JobState::succeeded) {
    return stop(job, StopCause::dependency,
                concat("job ", ended.name, ", which it depends on, ",
                       to_string(ended.state) == "cancelled" ? "was cancelled" : "failed"));
  }
  if (wants_success) {
    count_unmet(job);
    if (job.state == JobState::pending && volatile_.jobs.at(job.id).unmet == 0) {
      job.state = JobState::running;
      changes_.job(job.id);
      end_if_done(job);  // one without items
      if (job.ended()) return;
    }
  }
  reconsider(job);
}

// An item has succeeded: those that wait for it in other jobs may go.
void Core::unlock(const Job& job, ItemIndex item) {
  if (volatile_.jobs.at(job.id).item_dependents == 0) return;
  const auto found = volatile_.dependents.find(job.id);
  if (found == volatile_.dependents.end()) return;
  for (const JobId id : found->second) {
    Job& other = job_at(id);
    if (!std::ranges::any_of(other.after, [&](const Dependency& it) { return it.job == job.id && it.each; })) continue;
    look_again(volatile_.jobs.at(id), ItemBlocks::block_of(item));
    reconsider(other);
  }
}

}  // namespace drover
