// What runs beside what, what is handed ahead, and what is asked for next.
#include <algorithm>

#include "agent/agent.h"

namespace drover {
namespace {

// Items are handed ahead while they are short: about so much work, so that a slot need not tell of each end at once.
constexpr double kShortUs = 20'000;
constexpr double kAheadUs = 16'000;
constexpr std::size_t kLeastAhead = 4;
constexpr std::size_t kMostAhead = 32;
// Less than this that waits in a slot is not moved to another that has nothing to do.
constexpr double kWorthMovingUs = 5'000;
// The backlog holds this much work at the rate lately seen.
constexpr double kBacklogUs = 500'000;
constexpr std::size_t kMostBacklog = 4096;
// Where fetching takes less than this part of an item's run, fetching ahead gains less than it costs: items that are
// put by here are not run by a worker that is idle.
constexpr double kWorthFetchingAhead = 0.1;
// While so many jobs wait for what they need, nothing more is asked for: it might be of one more.
constexpr std::size_t kMostJobsAside = 64;
// Of so many jobs it is remembered how long their items take.
constexpr std::size_t kMostJobsKnown = 64;

}  // namespace

std::size_t Agent::ahead() const {
  if (typical_us_ <= 0 || typical_us_ >= kShortUs) return 0;
  return std::min(std::clamp(static_cast<std::size_t>(kAheadUs / typical_us_), kLeastAhead, kMostAhead), most_ahead_);
}

// How many items run side by side, if they ask for what they lately did.
std::size_t Agent::width() const {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(has_.holds(typical_ask_), 1, most_slots_));
}

// All items of a slot ask for the same.
Resources Agent::in_use() const {
  Resources sum;
  for (const SlotState& slot : slots_) {
    if (!slot.handed.empty()) sum = sum.plus(slot.handed.front().item.ask);
  }
  return sum;
}

// Those that could be opened, too.
std::size_t Agent::free_slots() const {
  return most_slots_ - slots_.size() + static_cast<std::size_t>(std::ranges::count_if(slots_, [](const SlotState& it) {
           return it.up && it.handed.empty();
         }));
}

// Whether the next item would have to wait.
bool Agent::is_full() const {
  const Resources& next = backlog_.empty() ? typical_ask_ : backlog_.front().ask;
  return free_slots() == 0 || !next.fits(has_.minus(in_use()));
}

std::size_t Agent::target_backlog() const {
  if (typical_us_ <= 0) return width() * 2;
  const double fitting = static_cast<double>(width()) * kBacklogUs / typical_us_;
  return std::clamp(static_cast<std::size_t>(fitting), width(), std::max(kMostBacklog, width()));
}

std::size_t Agent::put_by_while_long() const {
  return fetch_us_ > 0 && fetch_us_ >= typical_us_ * kWorthFetchingAhead ? width() : 0;
}

bool Agent::all_are_long() const {
  bool any = false;
  for (const SlotState& slot : slots_) {
    if (slot.handed.empty()) continue;
    if (!slot.handed.front().is_long) return false;
    any = true;
  }
  return any && is_full();
}

bool Agent::wants_to_ask() const {
  if (unanswered_.empty() || declined_news_) return true;
  if (!asked_) return wish().want > 0;
  // A question that waits for an answer would be given back just what is put back.
  if (all_are_long() && wish().want < asked_->want) return true;
  // One that was asked when there was little room would not be answered with what there is room for by now.
  if (has_.fits(asked_->room)) return false;
  const Wish now = wish();
  return now.want > 0 && !now.room.fits(asked_->room);
}

Agent::Wish Agent::wish() const {
  if (draining_ || yielded_ || holding_) return {};
  Wish wish;
  if (typical_us_ >= kLongMs * 1000.0 || all_are_long()) {
    // What fits right now, and nothing to put by but what is fetched ahead for.
    const std::size_t put_by = put_by_while_long();
    wish.room = has_.times(put_by > 0 ? 2 : 1).minus(in_use()).minus(backlog_ask_);
    const std::size_t free = free_slots() + put_by;
    if (free > backlog_.size()) {
      wish.want =
          std::min<std::uint64_t>(free - backlog_.size(), std::max<std::uint64_t>(1, wish.room.holds(typical_ask_)));
    }
  } else {
    const std::size_t target = target_backlog();
    const std::size_t rounds = (target + width() - 1) / width();
    wish.room = has_.times(rounds).minus(backlog_ask_);
    if (backlog_.size() * 2 <= target) wish.want = target - backlog_.size();
  }
  if (wish.room.milli_cpus == 0 || jobs_aside() >= kMostJobsAside) wish.want = 0;
  return wish;
}

// An unstarted item is in the agent's hands again.
void Agent::take_back(const AgentItem& item) {
  const bool lacks_devices = !Resources{.accelerators = item.ask.accelerators}.fits(all_);
  if (draining_ || lacks_devices || stop_order_for(item) != nullptr || is_abandoned(item) ||
      declined_.contains(item.job)) {
    returned_.push_back(item.token);
  } else {
    backlog_.push_front(item);
    backlog_ask_ = backlog_ask_.plus(item.ask);
  }
}

void Agent::leaves_backlog(const AgentItem& item) {
  backlog_ask_ = backlog_ask_.minus(item.ask);
}

void Agent::return_backlog() {
  for (const AgentItem& item : backlog_) returned_.push_back(item.token);
  for (auto& [job, items] : aside_) {
    for (const AgentItem& item : items) returned_.push_back(item.token);
    items.clear();
  }
  backlog_.clear();
  backlog_ask_ = {};
}

// What is not started of strict jobs, whose lease is about to expire.
void Agent::return_strict() {
  std::erase_if(backlog_, [&](const AgentItem& item) {
    if (!is_abandoned(item)) return false;
    returned_.push_back(item.token);
    leaves_backlog(item);
    return true;
  });
  for (auto& [job, items] : aside_) {
    std::erase_if(items, [&](const AgentItem& item) {
      if (!is_abandoned(item)) return false;
      returned_.push_back(item.token);
      return true;
    });
  }
}

// One that held its like before, if there is one: it need not be made anew for other limits.
std::optional<std::size_t> Agent::free_slot_for(const Resources& ask) {
  std::optional<std::size_t> any;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const SlotState& state = slots_[slot];
    if (!state.up || !state.handed.empty()) continue;
    if (state.last_ask == ask) return slot;
    if (!any) any = slot;
  }
  if (!any && slots_.size() < most_slots_) {
    any = slots_.size();
    slots_.emplace_back();
  }
  return any;
}

// Hands items out evenly: every slot its first before any slot its second. And in order: where the first in line finds
// no room, nothing overtakes it, so room for it comes.
void Agent::fill(std::int64_t now_ms) {
  if (holding_) return;
  if (!has_next()) return share();
  Resources free = has_.minus(in_use());
  while (has_next() && backlog_.front().ask.fits(free)) {
    const Resources ask = backlog_.front().ask;
    const auto slot = free_slot_for(ask);
    if (!slot) break;
    free = free.minus(ask);
    hand_first(*slot, now_ms);
  }
  if (!in_use().fits(has_)) return;  // not even those in front can all run
  for (std::size_t depth = 1; depth <= ahead(); ++depth) {
    for (std::size_t slot = 0; slot < slots_.size() && has_next(); ++slot) {
      const SlotState& state = slots_[slot];
      if (!state.up || state.recalled || state.handed.size() != depth) continue;
      // Behind one that has turned out long, nothing waits; nor behind one that leaves other room than it needs.
      if (now_ms >= state.handed.front().since_ms + kPatienceMs) continue;
      if (state.handed.front().item.ask == backlog_.front().ask) hand_first(slot, now_ms);
    }
  }
}

// Nothing is left to hand out: a slot with nothing to do takes from what waits in the fullest.
void Agent::share() {
  if (draining_ || free_slots() == 0) return;
  const auto fullest = std::ranges::max_element(slots_, {}, [](const SlotState& it) { return it.handed.size(); });
  if (fullest == slots_.end() || fullest->handed.size() < 2) return;
  if (typical_us_ * static_cast<double>(fullest->handed.size() - 1) < kWorthMovingUs) return;
  if (!fullest->handed.front().item.ask.fits(has_.minus(in_use()))) return;
  recall(static_cast<std::size_t>(fullest - slots_.begin()));
}

void Agent::hand_first(std::size_t slot, std::int64_t now_ms) {
  const AgentItem item = backlog_.front();
  backlog_.pop_front();
  leaves_backlog(item);
  if (backlog_.empty()) backlog_ask_ = {};  // should the sum ever have run into the end of numbers
  slots_[slot].handed.push_back({.item = item, .since_ms = now_ms});
  slots_[slot].last_ask = item.ask;
  actions_.emplace_back(StartItem{slot, item});
}

void Agent::learn_fetch(std::int64_t took_us) {
  const auto us = static_cast<double>(took_us);
  fetch_us_ = fetch_us_ == 0 ? us : fetch_us_ + 0.2 * (us - fetch_us_);
  if (fetch_us_ < 1) fetch_us_ = 0;
}

void Agent::learn(JobId job, std::int64_t wall_us) {
  const auto us = static_cast<double>(std::max<std::int64_t>(wall_us, 1));
  // Quick to believe that items are long, slow to believe that they are short.
  const auto follow = [us](double& typical_us) {
    const double weight = us > typical_us ? 0.5 : 0.1;
    typical_us = typical_us == 0 ? us : typical_us + weight * (us - typical_us);
  };
  follow(typical_us_);
  if (typical_of_us_.size() >= kMostJobsKnown && !typical_of_us_.contains(job))
    typical_of_us_.erase(typical_of_us_.begin());
  follow(typical_of_us_[job]);
}

}  // namespace drover
