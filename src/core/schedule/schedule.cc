#include "core/schedule/schedule.h"

#include <algorithm>

#include "base/check.h"
#include "core/schedule/schedule_faults.h"

namespace drover {
namespace {

constexpr Schedule::QueueKey kNoQueue{.below_highest = std::numeric_limits<std::uint32_t>::max()};
// However long something runs: beyond this a share is last anyway.
constexpr Wide kMostInFlight = Wide{1} << 100;
// Of two queues that have about as much it does not matter which comes first; one that has much need not take another
// place with each item.
bool is_about(std::uint64_t milli_cpus, std::uint64_t known) {
  const std::uint64_t slack = known / 16;
  return milli_cpus + slack >= known && milli_cpus <= known + slack;
}

}  // namespace

Demand demand_of(const Job& job, const Queue* queue) {
  Demand out{job.ask, job.require, queue == nullptr ? std::vector<std::string>() : queue->fleets};
  if (job.spot.use == SpotUse::only) out.require[std::string(kMarketLabel)] = kSpotMarket;
  out.no_spot = job.spot.use == SpotUse::never && !injected(ScheduleFault::never_spot_ignored);
  return out;
}

Demand sheltered(Demand demand) {
  demand.no_spot = true;
  return demand;
}

Schedule::Lane& Schedule::set_lane(const Queue& queue) {
  const auto [it, is_new] = lanes_.try_emplace(queue.name);
  Lane& lane = it->second;
  DROVER_CHECK(lane.offered.empty(), "a lane that changes offers nothing");
  if (is_new) {
    lane.key.number = next_lane_++;
  } else {
    drop_priority(lane);
  }
  set_priority(lane, Queue::kHighestPriority - (injected(ScheduleFault::queue_priority_ignored) ? 0 : queue.priority));
  lane.fair = queue.order == QueueOrder::fair;
  lane.decay_ms = queue.decay_s * 1000;
  lane.usage_from_ms = queue.usage_from_ms;
  lane.reserved_percent = queue.reserved_percent;
  for (const auto& [name, id] : lane.shares) shares_[id].weight = queue.weight_of(name);
  return lane;
}

void Schedule::set_priority(Lane& lane, std::uint32_t below_highest) {
  lane.key.below_highest = below_highest;
  std::set<Lane*>& same = lanes_of_priority_[below_highest];
  same.insert(&lane);
  touched_.insert(&lane);
  // One that was alone of its priority had nobody to take turns with.
  if (same.size() == 2) touched_.insert(same.begin(), same.end());
}

void Schedule::drop_priority(Lane& lane) {
  const auto same = lanes_of_priority_.find(lane.key.below_highest);
  same->second.erase(&lane);
  if (same->second.empty()) lanes_of_priority_.erase(same);
}

Schedule::Lane* Schedule::find_lane(const std::string& queue) {
  const auto it = lanes_.find(queue);
  return it == lanes_.end() ? nullptr : &it->second;
}

const Schedule::Lane* Schedule::find_lane(const std::string& queue) const {
  const auto it = lanes_.find(queue);
  return it == lanes_.end() ? nullptr : &it->second;
}

void Schedule::drop_lane(const std::string& queue) {
  const auto it = lanes_.find(queue);
  if (it == lanes_.end()) return;
  DROVER_CHECK(it->second.shares.empty(), "a lane that goes has no shares");
  drop_priority(it->second);
  touched_.erase(&it->second);
  lanes_.erase(it);
}

void Schedule::touch(Lane& lane) {
  if (lanes_of_priority_.at(lane.key.below_highest).size() > 1) touched_.insert(&lane);
}

Schedule::QueueKey Schedule::turn_of(const Lane& lane) {
  QueueKey key = lane.key;
  if (!is_about(lane.milli_cpus, key.milli_cpus)) key.milli_cpus = lane.milli_cpus;
  return key;
}

// Queues of one priority are served in turn: whoever has fewer CPUs busy comes first.
void Schedule::take_turns() {
  for (Lane* lane : touched_) {
    const QueueKey key = turn_of(*lane);
    if (key == lane->key) continue;
    for (const auto& [of, shares] : lane->offered) {
      auto node = classes_[of].queues.extract(lane->key);
      node.key() = key;
      classes_[of].queues.insert(std::move(node));
      set_first_queue(of);
    }
    lane->key = key;
  }
  touched_.clear();
}

Schedule::ShareId Schedule::share(Lane& lane, const std::string& name) {
  if (const auto known = lane.shares.find(name); known != lane.shares.end()) return known->second;
  const ShareId id = take_slot(shares_, free_shares_);
  shares_[id].name = name;
  shares_[id].lane = &lane;
  lane.shares.emplace(name, id);
  return id;
}

void Schedule::drop_share(ShareId id) {
  Share& share = shares_[id];
  DROVER_CHECK(share.jobs.empty() && share.items == 0 && share.offered.empty(), "a share that goes has nothing left");
  share.lane->shares.erase(share.name);
  share = Share{};
  free_shares_.push_back(id);
}

Wide Schedule::key_of(const Share& share, std::int64_t now_ms) {
  const Lane& lane = *share.lane;
  if (!lane.fair) return 0;
  // What is in workers' hands counts as what it will have used on average, from the moment it is handed out: counted as
  // it is used, a share of long items would take all that is free while it is a little behind, and have it for long.
  // Should it turn out longer than it was thought, half of what it has used is more.
  const Wide sum_by_now = Wide{share.running} * lane.sum_at(now_ms);
  const Wide by_moments = sum_by_now > share.running_sum ? sum_by_now - share.running_sum : 0;
  // Who is given one more has it for all of its length: part of it counts before it is given.
  const Wide planned = (share.planned + share.next * 2 / 3) * lane.factor_at(now_ms) >> 16;
  return share.settled + std::min(std::max(planned, by_moments >> 17), kMostInFlight) * share.weight;
}

// The mean of what items of this length, begun at any time, have used by now: half of it, or, of those that are long
// beside the decay, as much as anything that runs on and on.
std::uint64_t Schedule::Lane::in_flight_ms(std::int64_t item_ms) const {
  const auto lasting = static_cast<std::uint64_t>(decay_ms) * 1443 / 1000;
  const auto length = static_cast<std::uint64_t>(item_ms);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(Wide{lasting} * length / (2 * lasting + length)));
}

void Schedule::stand_at(Share& share, ShareId id, Wide key) {
  if (key == share.key) return;
  for (const auto& [of, ranks] : share.offered) {
    auto& order = classes_[of].queues.at(share.lane->key);
    order.erase({share.key, id});
    order.insert({key, id});
  }
  share.key = key;
}

void Schedule::reorder(ShareId id, std::int64_t now_ms) {
  Share& share = shares_[id];
  stand_at(share, id, key_of(share, now_ms));
}

Schedule::ClassId Schedule::enter(const Demand& demand) {
  if (const auto known = class_of_.find(demand); known != class_of_.end()) {
    ++classes_[known->second].jobs;
    return known->second;
  }
  const ClassId id = take_slot(classes_, free_classes_);
  first_queue_.resize(classes_.size(), kNoQueue);
  first_queue_[id] = kNoQueue;
  Class& it = classes_[id];
  it.demand = demand;
  it.requirement = &requirements_[{demand.require, demand.fleets, demand.no_spot}];
  ++it.requirement->classes;
  it.jobs = 1;
  class_of_.emplace(demand, id);
  return id;
}

void Schedule::leave(ClassId id) {
  Class& it = classes_[id];
  if (--it.jobs > 0) return;
  DROVER_CHECK(it.queues.empty(), "a class that goes offers nothing");
  class_of_.erase(it.demand);
  if (--it.requirement->classes == 0) requirements_.erase({it.demand.require, it.demand.fleets, it.demand.no_spot});
  it = Class{};
  free_classes_.push_back(id);
}

void Schedule::set_first_queue(ClassId of) {
  const auto& queues = classes_[of].queues;
  const QueueKey first = queues.empty() ? kNoQueue : queues.begin()->first;
  if (first == first_queue_[of]) return;
  if (first_queue_[of] != kNoQueue) offering_.erase({first_queue_[of], of});
  first_queue_[of] = first;
  if (first != kNoQueue) offering_.insert({first, of});
}

void Schedule::offer(ClassId of, ShareId share_id, Rank rank) {
  Share& share = shares_[share_id];
  std::set<Rank>& ranks = share.offered[of];
  if (ranks.empty()) {
    classes_[of].queues[share.lane->key].insert({share.key, share_id});
    ++share.lane->offered[of];
    set_first_queue(of);
  }
  ranks.insert(rank);
}

void Schedule::withdraw(ClassId of, ShareId share_id, Rank rank) {
  Share& share = shares_[share_id];
  const auto ranks = share.offered.find(of);
  DROVER_CHECK(ranks != share.offered.end() && ranks->second.erase(rank) == 1, "what is withdrawn was offered");
  if (!ranks->second.empty()) return;
  share.offered.erase(ranks);
  auto& queues = classes_[of].queues;
  const auto queue = queues.find(share.lane->key);
  queue->second.erase({share.key, share_id});
  if (queue->second.empty()) queues.erase(queue);
  if (--share.lane->offered.at(of) == 0) share.lane->offered.erase(of);
  set_first_queue(of);
}

// With A shares active the (r/100)^A of all CPUs is nobody's yet.
Wide Schedule::not_kept(const Lane& lane, std::uint64_t active_shares) const {
  Wide kept = capacity_milli_cpus;
  for (std::uint64_t i = 0; i < active_shares && kept > 0; ++i) kept = kept * lane.reserved_percent / 100;
  return capacity_milli_cpus - kept;
}

// A share that has nothing may begin with what is kept.
bool Schedule::is_held_back(const Share& share, const Resources& ask) const {
  const Lane& lane = *share.lane;
  if (!lane.fair || lane.reserved_percent == 0 || share.items == 0) return false;
  return Wide{lane.milli_cpus} + ask.milli_cpus > not_kept(lane, lane.active_shares);
}

std::uint64_t Schedule::may_have(const Share& share, const Resources& ask) const {
  const Lane& lane = *share.lane;
  if (!lane.fair || lane.reserved_percent == 0 || ask.milli_cpus == 0) return Resources::kEndless;
  const Wide most = not_kept(lane, lane.active_shares + (share.items == 0 ? 1 : 0));
  if (most <= lane.milli_cpus) return 1;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>((most - lane.milli_cpus) / ask.milli_cpus));
}

// The first share in the first queue of the class that may have more.
std::optional<Schedule::Candidate> Schedule::first_of(ClassId of, QueueKey no_later_than, std::int64_t now_ms) {
  for (auto& [queue, order] : classes_[of].queues) {
    if (queue > no_later_than) break;
    const Lane& lane = *shares_[order.begin()->second].lane;
    if (lane.reserved_percent > 0) {
      // It may be the last of them that is looked for.
      for (const auto& [name, id] : lane.shares) reorder(id, now_ms);
    }
    for (auto it = order.begin(); it != order.end();) {
      const ShareId id = it->second;
      const Wide fresh = key_of(shares_[id], now_ms);
      if (fresh != it->first) {
        stand_at(shares_[id], id, fresh);
        it = order.begin();
        continue;
      }
      if (!is_held_back(shares_[id], classes_[of].demand.ask)) {
        const std::set<Rank>& ranks = shares_[id].offered.at(of);
        return Candidate{queue, fresh, id,
                         injected(ScheduleFault::job_priority_ignored) ? *ranks.rbegin() : *ranks.begin()};
      }
      ++it;
    }
  }
  return std::nullopt;
}

// Items that are sheltered count among those of their job that are not.
bool Schedule::holds_alike(const Held& held, ClassId of) const {
  const Demand& demand = classes_[of].demand;
  return held.contains(of) || (demand.no_spot && std::ranges::any_of(held, [&](const auto& it) {
                                 return classes_[it.first].demand.ask == demand.ask;
                               }));
}

std::optional<Schedule::Choice> Schedule::choose(KindId kind, const Resources& room, const Held& held,
                                                 std::int64_t now_ms) {
  take_turns();
  std::optional<Candidate> best;
  Choice choice;
  for (const auto& [queue, of] : offering_) {
    if (best && queue > best->queue) break;
    if (!suits(kind, of)) continue;
    const bool makes_room = !classes_[of].demand.ask.fits(room);
    // One that found no room is given ahead of it, once: else a stream of small ones would keep it out for ever.
    if (makes_room && (room.milli_cpus == 0 || holds_alike(held, of))) continue;
    const auto candidate = first_of(of, best ? best->queue : kNoQueue, now_ms);
    if (!candidate || (best && *best <= *candidate)) continue;
    best = candidate;
    choice = {candidate->rank.job, of, makes_room};
  }
  if (!best) return std::nullopt;
  return choice;
}

}  // namespace drover
