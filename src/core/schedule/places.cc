#include "core/schedule/places.h"

#include <algorithm>

#include "core/record_hash.h"
#include "core/schedule/schedule_faults.h"

namespace drover {
namespace {

constexpr std::int64_t kLongestPlannedMs = 1'000'000'000;
// In a queue that shares fairly, no share is handed more than this at a time while others wait.
constexpr std::int64_t kFairSliceMs = 100;

std::uint64_t saturating(std::uint64_t milli_cpus, std::uint64_t count) {
  return Resources{.milli_cpus = milli_cpus}.times(count).milli_cpus;
}

}  // namespace

Result<void> ShareRecords::restore(const PutShare& put) {
  shares.insert_or_assign({put.share.queue, put.share.share}, put.share);
  return {};
}

void ShareRecords::add_to(Hasher& hasher) const {
  for (const auto& [key, share] : shares) add_record(hasher, share);
}

Schedule::Lane& Places::lane_of(const std::string& queue) {
  if (Schedule::Lane* known = now_.schedule.find_lane(queue)) return *known;
  const Queue* record = catalog_.find_queue(queue);
  // A queue is dropped only when no job that could be reopened is left in it; a store may say otherwise.
  return now_.schedule.set_lane(record != nullptr ? *record : Queue{.name = queue});
}

void Places::take_place(const Job& job) {
  Place& place = now_.places.at(job.id);
  Schedule& schedule = now_.schedule;
  Schedule::Lane& lane = lane_of(job.place.queue);
  const Queue* queue = catalog_.find_queue(job.place.queue);
  const std::string name = lane.fair ? job.place.share : std::string();
  place.share = schedule.share(lane, name);
  Schedule::Share& share = share_of(place);
  const bool is_first = share.jobs.empty();
  share.jobs.insert(job.id);
  if (is_first) {
    share.weight = queue == nullptr ? ShareWeight::kOne : queue->weight_of(name);
    const auto record = records_.shares.find({job.place.queue, name});
    share.settled = record == records_.shares.end() ? Wide{0} : record->second.used.value();
  }
  place.of = schedule.enter(demand_of(job, queue));
  place.rank = {kHighestPriority - job.place.priority, job.id};
  place.scheduled = true;
}

void Places::leave_place(const Job& job) {
  set_sheltered(job.id, false);
  Place& place = now_.places.at(job.id);
  Schedule& schedule = now_.schedule;
  schedule.leave(place.of);
  schedule.at(place.share).jobs.erase(job.id);
  if (schedule.at(place.share).jobs.empty()) schedule.drop_share(place.share);
  place.scheduled = false;
  place.of = place.share = Schedule::kNone;
}

void Places::set_offered(JobId job, bool offered) {
  Place& place = now_.places.at(job);
  if (std::exchange(place.offered, offered) == offered) return;
  if (!offered) return now_.schedule.withdraw(place.offered_as(), place.share, place.rank);
  now_.schedule.offer(place.offered_as(), place.share, place.rank);
  now_.turned_up.insert(place.offered_as());
}

// What workers have in their hands counts for the class of the job all the while.
void Places::set_sheltered(JobId job, bool sheltered_now) {
  Place& place = now_.places.at(job);
  if (place.is_sheltered() == sheltered_now) return;
  const bool was_offered = place.offered;
  set_offered(job, false);
  if (sheltered_now) {
    place.sheltered = now_.schedule.enter(sheltered(now_.schedule.of(place.of).demand));
  } else {
    now_.schedule.leave(std::exchange(place.sheltered, Schedule::kNone));
  }
  set_offered(job, was_offered);
}

std::vector<JobId> Places::hide(const std::vector<JobId>& jobs) {
  std::vector<JobId> hidden;
  for (const JobId id : jobs) {
    const auto place = now_.places.find(id);
    if (place == now_.places.end() || !place->second.offered) continue;
    set_offered(id, false);
    hidden.push_back(id);
  }
  return hidden;
}

void Places::show_again(const std::vector<JobId>& hidden) {
  for (const JobId id : hidden) {
    Place& place = now_.places.at(id);
    now_.schedule.offer(place.offered_as(), place.share, place.rank);
    place.offered = true;
  }
}

std::uint64_t Places::at_once(const Job& job) const {
  const Place& place = at(job.id);
  std::uint64_t most = Policy::kNoLimit;
  if (job.max_running > 0)
    most = job.max_running - place.in_hands + (injected(ScheduleFault::one_more_than_max_running) ? 1 : 0);
  const Schedule::Share& share = now_.schedule.at(place.share);
  const Schedule::Lane& lane = *share.lane;
  most = std::min(most, now_.schedule.may_have(share, job.ask));
  if (lane.fair && lane.shares.size() > 1) {
    most = std::min(most, static_cast<std::uint64_t>(std::max<std::int64_t>(1, kFairSliceMs / place.planned_ms)));
  }
  return most;
}

const Schedule::Held& Places::held_by(WorkerId worker) const {
  static const Schedule::Held nothing;
  const auto found = now_.held.find(worker);
  return found == now_.held.end() ? nothing : found->second;
}

void Places::on_handed_out(const Job& job, WorkerId worker, std::uint64_t count) {
  Place& place = now_.places.at(job.id);
  if (Schedule::Lane& lane = *share_of(place).lane; lane.fair) age_usage(job.place.queue, lane);
  into_hands(place, job, worker, count);
}

void Places::into_hands(Place& place, const Job& job, WorkerId worker, std::uint64_t count) {
  Schedule::Share& share = share_of(place);
  place.in_hands += count;
  journal_.touch(job.id);
  now_.held[worker][place.of] += static_cast<std::uint32_t>(count);
  if (share.items == 0 && count > 0) {
    ++share.lane->active_shares;
    if (share.lane->reserved_percent > 0) less_is_kept(*share.lane);
  }
  const std::uint64_t milli_cpus = saturating(job.ask.milli_cpus, count);
  share.items += count;
  share.milli_cpus += milli_cpus;
  share.lane->milli_cpus += milli_cpus;
  share.planned += Wide{milli_cpus} * share.lane->in_flight_ms(place.planned_ms);
  now_.schedule.touch(*share.lane);
  now_.schedule.reorder(place.share, journal_.now_ms());
}

void Places::out_of_hands(const Job& job, WorkerId worker, std::optional<std::int64_t> ran_since_ms) {
  Place& place = now_.places.at(job.id);
  Schedule::Share& share = share_of(place);
  if (ran_since_ms) runs_no_more(job, *ran_since_ms);
  --place.in_hands;
  journal_.touch(job.id);
  const auto held = now_.held.find(worker);
  if (--held->second.at(place.of) == 0) held->second.erase(place.of);
  if (held->second.empty()) now_.held.erase(held);
  if (--share.items == 0) --share.lane->active_shares;
  share.milli_cpus -= job.ask.milli_cpus;
  share.lane->milli_cpus -= job.ask.milli_cpus;
  share.planned -= Wide{job.ask.milli_cpus} * share.lane->in_flight_ms(place.planned_ms);
  now_.schedule.touch(*share.lane);
  now_.schedule.reorder(place.share, journal_.now_ms());
  // What was kept for others may be given by now.
  if (share.lane->reserved_percent > 0) less_is_kept(*share.lane);
}

void Places::less_is_kept(const Schedule::Lane& lane) {
  for (const auto& [of, shares] : lane.offered) now_.turned_up.insert(of);
}

void Places::begins_to_run(const Job& job, std::int64_t started_ms) {
  if (now_.places.at(job.id).running++ == 0) now_.running.insert(job.id);
  journal_.touch(job.id);
  count_running(job, started_ms);
}

void Places::count_running(const Job& job, std::int64_t started_ms) {
  Schedule::Share& share = share_of(now_.places.at(job.id));
  share.running += charged_milli_cpus(job);
  share.running_sum += Wide{charged_milli_cpus(job)} * share.lane->sum_at(started_ms);
}

void Places::runs_no_more(const Job& job, std::int64_t started_ms) {
  Place& place = now_.places.at(job.id);
  if (--place.running == 0) now_.running.erase(job.id);
  Schedule::Share& share = share_of(place);
  share.running -= charged_milli_cpus(job);
  share.running_sum -= Wide{charged_milli_cpus(job)} * share.lane->sum_at(started_ms);
}

void Places::charge(const Job& job, std::int64_t wall_ms) {
  Place& place = now_.places.at(job.id);
  Schedule::Share& share = share_of(place);
  // What the next ones are expected to take.
  const std::int64_t planned_ms = std::clamp<std::int64_t>(
      std::exchange(place.has_ended_some, true) ? (place.planned_ms * 7 + wall_ms) / 8 : wall_ms, 1, kLongestPlannedMs);
  if (planned_ms != place.planned_ms) {
    const Wide all = Wide{job.ask.milli_cpus} * place.in_hands;
    share.planned =
        share.planned - all * share.lane->in_flight_ms(place.planned_ms) + all * share.lane->in_flight_ms(planned_ms);
    place.planned_ms = planned_ms;
  }
  share.next = Wide{job.ask.milli_cpus} * share.lane->in_flight_ms(planned_ms);
  if (!share.lane->fair) return;
  age_usage(job.place.queue, *share.lane);
  const Schedule::Lane& lane = *share.lane;
  const std::int64_t now_ms = journal_.now_ms();
  const Wide by_moments = Wide{charged_milli_cpus(job)} * (lane.sum_at(now_ms) - lane.sum_at(now_ms - wall_ms));
  if (!injected(ScheduleFault::usage_forgotten)) share.settled += (by_moments >> 16) * share.weight;
  ShareRecord& record = records_.shares[{job.place.queue, share.name}];
  if (record.since_ms == 0) record = {job.place.queue, share.name, {}, now_ms};
  record.used = Charge::of(share.settled);
  shares_.add({job.place.queue, share.name});
}

// Usage is kept in units that grow, so that what is old counts less without being touched. Before they have grown too
// far, all begin anew.
void Places::age_usage(const std::string& name, Schedule::Lane& lane) {
  const std::int64_t doublings = (journal_.now_ms() - lane.usage_from_ms) / lane.decay_ms;
  if (lane.usage_from_ms > 0 && doublings < kMostDoublings) return;
  const int shift = lane.usage_from_ms == 0 ? 0 : static_cast<int>(std::min<std::int64_t>(doublings, 127));
  lane.usage_from_ms = lane.usage_from_ms == 0 ? journal_.now_ms() : lane.usage_from_ms + doublings * lane.decay_ms;
  catalog_.set_usage_from(name, lane.usage_from_ms);
  auto record = records_.shares.lower_bound({name, ""});
  while (record != records_.shares.end() && record->first.first == name) {
    record->second.used = Charge::of(record->second.used.value() >> shift);
    shares_.add(record->first);
    const auto live = lane.shares.find(record->first.second);
    if (live != lane.shares.end()) now_.schedule.at(live->second).settled = record->second.used.value();
    const bool forgotten = record->second.used.value() == 0 && live == lane.shares.end();
    record = forgotten ? records_.shares.erase(record) : std::next(record);
  }
  // What runs was counted in the units before.
  for (const auto& [name_of, id] : lane.shares) {
    Schedule::Share& share = now_.schedule.at(id);
    share.running = 0;
    share.running_sum = 0;
  }
  for (const JobId id : now_.running) {
    const Place& place = at(id);
    if (share_of(place).lane != &lane) continue;
    running_items_->each_running(id, place.running,
                                 [this](const Job& job, std::int64_t started_ms) { count_running(job, started_ms); });
  }
  for (const auto& [share, id] : lane.shares) now_.schedule.reorder(id, journal_.now_ms());
}

// As they came.
std::set<JobId> Places::jobs_in(const std::string& queue) const {
  std::set<JobId> jobs;
  const Schedule::Lane* lane = now_.schedule.find_lane(queue);
  if (lane == nullptr) return jobs;
  for (const auto& [name, id] : lane->shares) {
    const std::set<JobId>& of_share = now_.schedule.at(id).jobs;
    jobs.insert(of_share.begin(), of_share.end());
  }
  return jobs;
}

std::optional<JobId> Places::any_job_in(const std::string& queue) const {
  const Schedule::Lane* lane = now_.schedule.find_lane(queue);
  if (lane == nullptr || lane->shares.empty()) return std::nullopt;
  return *now_.schedule.at(lane->shares.begin()->second).jobs.begin();
}

void Places::forget_usage(const std::string& queue) {
  auto share = records_.shares.lower_bound({queue, ""});
  while (share != records_.shares.end() && share->first.first == queue) {
    shares_.add(share->first);
    share = records_.shares.erase(share);
  }
}

void Places::drop_lane(const std::string& queue) {
  forget_usage(queue);
  now_.schedule.drop_lane(queue);
}

void Places::change_capacity(std::uint64_t before_milli_cpus, std::uint64_t now_milli_cpus) {
  now_.schedule.capacity_milli_cpus += now_milli_cpus - before_milli_cpus;
  if (now_milli_cpus <= before_milli_cpus) return;
  for (const auto& [name, lane] : now_.schedule.lanes()) {
    if (lane.reserved_percent > 0) less_is_kept(lane);
  }
}

// What is handed out may itself make room: a share that begins leaves less to be kept for others.
void Places::serve_those_who_wait(std::size_t& left, const std::function<WorkerId(std::uint64_t poll)>& whose,
                                  const std::function<bool(std::uint64_t poll)>& serve) {
  while (!now_.turned_up.empty() && left > 0) {
    const Schedule::ClassId of = *now_.turned_up.begin();
    now_.turned_up.erase(of);
    // A worker that holds something of the class already makes no room for more of it.
    const auto makes_room = [&](std::uint64_t poll) { return !held_by(whose(poll)).contains(of); };
    while (now_.schedule.has_offers(of)) {
      if (left == 0) {
        now_.turned_up.insert(of);
        break;
      }
      --left;
      const auto waiting = now_.schedule.who_waits_for(of, makes_room);
      if (!waiting || injected(ScheduleFault::parked_worker_forgotten) || !serve(*waiting)) break;
    }
  }
}

void Places::take_changes(std::vector<Mutation>& out) {
  shares_.take<PutShare>(records_.shares, out, [](const auto& key) { return DeleteShare{key.first, key.second}; });
}

}  // namespace drover
