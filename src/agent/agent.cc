#include "agent/agent.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

// A kill is sent again while its item is still there.
constexpr std::int64_t kKillAgainMs = 1000;
// Longer than any cloud warns ahead: what saves itself is killed when the machine goes, not before.
constexpr std::int64_t kSavingMs = 600'000;

}  // namespace

Agent::Agent(std::size_t slots) : all_(Resources::endless()), has_(all_), most_slots_(slots), slots_(slots) {
  DROVER_CHECK(slots > 0, "an agent has slots");
}

Agent::Agent(const Resources& has, std::size_t most_slots)
    : all_(has),
      has_(has),
      most_slots_(most_slots),
      typical_ask_(Resources{.milli_cpus = kUsualMilliCpus}.at_most(has)) {
  DROVER_CHECK(most_slots > 0, "an agent has slots");
}

void Agent::on_answer(PollNumber number, const std::vector<Lease>& leases, const std::vector<StopOrder>& stops,
                      std::int64_t now_ms) {
  if (unanswered_.erase(number) == 0) return;
  if (number == last_poll_) asked_.reset();
  newest_answer_ = std::max(newest_answer_, number);
  std::erase_if(given_up_, [&](const GivenUp& it) { return it.told_by && it.told_by <= number; });
  for (const StopOrder& order : stops) {
    // Answers may overtake each other, but they were given in the order of their polls.
    Stopped& stopped = stopped_[order.job];
    if (number < stopped.up_to) continue;
    stopped = {number, order.mode};
    std::erase_if(backlog_, [&](const AgentItem& item) {
      if (item.job != order.job || item.poll > number) return false;
      returned_.push_back(item.token);
      leaves_backlog(item);
      return true;
    });
    if (const auto waiting = aside_.find(order.job); waiting != aside_.end()) {
      std::erase_if(waiting->second, [&](const AgentItem& item) {
        if (item.poll > number) return false;
        returned_.push_back(item.token);
        return true;
      });
    }
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      recall(slot);
      const auto& handed = slots_[slot].handed;
      if (order.mode == StopMode::kill_running && !handed.empty() && handed.front().item.job == order.job &&
          handed.front().item.poll <= number) {
        begin_stop(slot, StopReason::cancelled, now_ms);
      }
    }
  }
  for (const Lease& lease : leases) {
    // More than everything would never be there: such a one runs alone.
    typical_ask_ = lease.ask.at_most(all_);
    for (std::uint64_t offset = 0; offset < lease.count; ++offset) {
      const AgentItem item{{lease.grant, ItemIndex{lease.first.value + offset}},
                           lease.job,
                           lease.attempt_of(offset),
                           lease.timeout_ms,
                           lease.grace_ms,
                           typical_ask_,
                           number};
      // An item must have all of its devices. The server does not know yet that there are fewer.
      const bool lacks_devices = lease.ask.accelerators != typical_ask_.accelerators;
      if (lacks_devices || stop_order_for(item) != nullptr || declined_.contains(item.job)) {
        returned_.push_back(item.token);
      } else if (const auto waiting = aside_.find(item.job); waiting != aside_.end()) {
        waiting->second.push_back(item);
        keep_few(waiting->second);
      } else {
        backlog_.push_back(item);
        backlog_ask_ = backlog_ask_.plus(item.ask);
      }
    }
  }
  if (draining_) drain(now_ms);  // what was asked for before the drain goes straight back
  forget_stop_orders();
  fill(now_ms);
}

void Agent::on_ready(GrantId grant, std::int64_t now_ms) {
  held_back_.erase(grant);
  fill(now_ms);
}

void Agent::on_ended(std::size_t slot, EndedAttempt ended, bool was_stopped, std::int64_t now_ms) {
  auto& handed = slots_[slot].handed;
  DROVER_CHECK(!handed.empty() && handed.front().item.token == ended.token, "a slot ends what it was running");
  const Handed done = handed.front();
  handed.pop_front();
  learn(done.item.job, ended.usage.wall_us);
  if (was_stopped && ended.outcome.ending != Ending::not_started) {
    switch (done.stopping) {
      case StopReason::none: break;
      case StopReason::timeout:
        ended.outcome.ending = Ending::timed_out;
        ended.outcome.reason = concat("timed out after ", format_duration_us(done.item.timeout_ms * 1000));
        break;
      case StopReason::cancelled:
        ended.outcome.ending = Ending::stopped;
        ended.outcome.reason = "stopped: its job was cancelled";
        break;
      case StopReason::interrupted:
        ended.outcome.ending = Ending::lost;
        ended.outcome.reason = interrupted_ ? "lost: its machine is being taken away" : "lost: the run was interrupted";
        break;
      case StopReason::lease_over:
        ended.outcome.ending = Ending::lost;
        ended.outcome.reason = "lost: its lease expired";
        break;
      case StopReason::machine_leaves:
        ended.outcome.ending = Ending::lost;
        ended.outcome.reason = "lost: its machine is being taken away, and it was told to save what it had";
        break;
    }
  }
  tell(slot, std::move(ended), now_ms);
  next_in_slot(slot, now_ms);
  fill(now_ms);
}

void Agent::on_refused(std::size_t slot, Token token, std::string reason, std::int64_t now_ms) {
  const bool was_first = slots_[slot].handed.front().item.token == token;
  take_from(slot, token);
  tell(slot,
       {.token = token,
        .outcome = {.ending = Ending::not_started, .reason = std::move(reason)},
        .usage = {.started_ms = now_ms}},
       now_ms);
  if (was_first) next_in_slot(slot, now_ms);
  fill(now_ms);
}

void Agent::on_returned(std::size_t slot, Token token, std::int64_t now_ms) {
  take_back(take_from(slot, token));
  if (slots_[slot].handed.empty()) yielded_ = false;
  // When the last has come back, all are handed out evenly.
  if (!slots_[slot].recalled) fill(now_ms);
}

AgentItem Agent::take_from(std::size_t slot, Token token) {
  auto& handed = slots_[slot].handed;
  const auto it = std::ranges::find_if(handed, [&](const Handed& one) { return one.item.token == token; });
  DROVER_CHECK(it != handed.end(), "a slot returns what it was handed");
  AgentItem item = it->item;
  handed.erase(it);
  if (handed.size() < 2) slots_[slot].recalled = false;
  return item;
}

void Agent::on_slot_died(std::size_t slot, const std::string& reason, std::int64_t now_ms) {
  SlotState& state = slots_[slot];
  state.up = false;
  state.recalled = false;
  // What was still to be done in this slot must not be done to the one that takes its place.
  bool first_was_started = !state.handed.empty();
  std::erase_if(actions_, [&](const AgentAction& action) {
    const bool here = std::visit([&](const auto& it) { return it.slot == slot; }, action);
    const auto* start = std::get_if<StartItem>(&action);
    if (here && start != nullptr && start->item.token == state.handed.front().item.token) first_was_started = false;
    return here;
  });
  if (first_was_started) {
    const Handed lost = state.handed.front();
    state.handed.pop_front();
    tell(slot,
         {.token = lost.item.token,
          .outcome = {.ending = Ending::lost, .reason = concat("lost: ", reason)},
          .usage = {.started_ms = lost.since_ms, .wall_us = (now_ms - lost.since_ms) * 1000}},
         now_ms);
  }
  while (!state.handed.empty()) {
    take_back(state.handed.back().item);
    state.handed.pop_back();
  }
  fill(now_ms);
}

void Agent::on_slot_up(std::size_t slot, std::int64_t now_ms) {
  slots_[slot].up = true;
  yielded_ = false;
  fill(now_ms);
}

void Agent::on_tick(std::int64_t now_ms) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) watch(slot, now_ms);
  if (backlog_.size() > put_by_while_long() && all_are_long()) {
    yielded_ = true;
    return_backlog();
  }
  fill(now_ms);
}

// What is due for the item that runs in this slot.
void Agent::watch(std::size_t slot, std::int64_t now_ms) {
  SlotState& state = slots_[slot];
  if (state.handed.empty()) return;
  Handed& running = state.handed.front();
  if (running.stopping == StopReason::none && running.item.timeout_ms > 0 && !running.is_staged &&
      now_ms >= running.since_ms + running.item.timeout_ms) {
    begin_stop(slot, StopReason::timeout, now_ms);
  }
  if (running.kill_at_ms != 0 && now_ms >= running.kill_at_ms) {
    running.kill_at_ms = now_ms + kKillAgainMs;
    actions_.emplace_back(StopItem{slot, running.item.token, StopHow::kill, running.kill_ran_ms});
  }
  if (now_ms >= running.since_ms + kPatienceMs) recall(slot);
  if (now_ms >= running.since_ms + kLongMs && !running.is_staged) running.is_long = true;
}

void Agent::on_staging(std::size_t slot, Token token, bool is_staged, std::int64_t now_ms) {
  auto& handed = slots_[slot].handed;
  if (handed.empty() || handed.front().item.token != token || handed.front().is_staged == is_staged) return;
  Handed& first = handed.front();
  first.is_staged = is_staged;
  first.since_ms = now_ms;
  // It ended in time after all.
  if (is_staged && first.stopping == StopReason::timeout) {
    first.stopping = StopReason::none;
    first.kill_at_ms = 0;
  }
}

void Agent::drain(std::int64_t now_ms) {
  draining_ = true;
  return_backlog();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) recall(slot);
  fill(now_ms);
}

void Agent::kill_all(std::int64_t now_ms) {
  killing_ = true;
  drain(now_ms);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].handed.empty()) begin_stop(slot, StopReason::interrupted, now_ms);
  }
}

void Agent::on_interruption(std::int64_t until_ms, std::int64_t now_ms) {
  interrupted_ = Interrupted{until_ms};
  drain(now_ms);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].handed.empty()) interrupt(slot, now_ms);
  }
}

void Agent::interrupt(std::size_t slot, std::int64_t now_ms) {
  Handed& running = slots_[slot].handed.front();
  if (saves_ && saves_(running.item.job)) {
    begin_stop(slot, StopReason::machine_leaves, now_ms);
    return;
  }
  const auto typical_us = typical_of_us_.find(running.item.job);
  const auto usual_ms = typical_us == typical_of_us_.end() ? 0 : static_cast<std::int64_t>(typical_us->second / 1000);
  const std::int64_t left_ms = usual_ms - (now_ms - running.since_ms);
  // It is not known when one ends that has taken longer than usual, or the first of its job.
  const bool may_end = interrupted_->until_ms == 0 || left_ms <= 0 || now_ms + left_ms <= interrupted_->until_ms;
  if (!may_end) begin_stop(slot, StopReason::interrupted, now_ms);
}

void Agent::shrink(const Resources& has, std::int64_t now_ms) {
  all_ = has.at_most(all_);
  has_ = all_.at_most(has_);
  return_unstarted(now_ms);
}

void Agent::keep_to(const Resources& left, std::int64_t now_ms) {
  has_ = all_.at_most(left);
  fill(now_ms);
}

void Agent::return_unstarted(std::int64_t now_ms) {
  return_backlog();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) recall(slot);
  fill(now_ms);
}

void Agent::doubt_leases(std::int64_t now_ms) {
  for (SlotState& slot : slots_) {
    if (!slot.handed.empty()) slot.handed.front().named = false;
  }
  return_unstarted(now_ms);
}

void Agent::abandon_leases(std::int64_t now_ms) {
  abandoned_up_to_ = newest_answer_;
  return_strict();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto& handed = slots_[slot].handed;
    if (std::ranges::any_of(handed, [&](const Handed& it) { return is_abandoned(it.item); })) recall(slot);
    if (!handed.empty() && is_abandoned(handed.front().item)) begin_stop(slot, StopReason::lease_over, now_ms);
  }
}

bool Agent::is_abandoned(const AgentItem& item) const {
  return item.poll <= abandoned_up_to_ && is_strict_ && is_strict_(item.job);
}

void Agent::on_gone(const std::vector<Token>& gone, std::int64_t now_ms) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto& handed = slots_[slot].handed;
    if (handed.empty() || std::ranges::find(gone, handed.front().item.token) == gone.end()) continue;
    begin_stop(slot, StopReason::lease_over, now_ms);
  }
}

void Agent::hold(bool on, std::int64_t now_ms) {
  holding_ = on;
  for (std::size_t slot = 0; on && slot < slots_.size(); ++slot) recall(slot);
  fill(now_ms);
}

std::vector<AgentAction> Agent::take_actions() {
  return std::exchange(actions_, {});
}

template <class Visit>
void Agent::each_deadline(const SlotState& slot, Visit&& visit) const {
  if (slot.handed.empty()) return;
  const Handed& running = slot.handed.front();
  if (running.stopping == StopReason::none && running.item.timeout_ms > 0 && !running.is_staged) {
    visit(running.since_ms + running.item.timeout_ms);
  }
  if (running.kill_at_ms != 0) visit(running.kill_at_ms);
  if (!running.named) visit(running.since_ms + kNameAfterMs);
  if (slot.handed.size() > 1 && !slot.recalled) visit(running.since_ms + kPatienceMs);
  if (!running.is_long && !running.is_staged && (asked_ || !backlog_.empty())) visit(running.since_ms + kLongMs);
}

std::optional<std::int64_t> Agent::next_deadline(std::int64_t after_ms) const {
  std::optional<std::int64_t> soonest;
  const auto consider = [&](std::int64_t at_ms) {
    if (at_ms > after_ms) soonest = soonest ? std::min(*soonest, at_ms) : at_ms;
  };
  for (const SlotState& slot : slots_) each_deadline(slot, consider);
  if (!ended_.empty()) consider(report_at_ms_);
  return soonest;
}

bool Agent::has_work() const {
  return !backlog_.empty() || jobs_aside() > 0 ||
         std::ranges::any_of(slots_, [](const SlotState& slot) { return !slot.handed.empty(); });
}

bool Agent::idle() const {
  return ended_.empty() && returned_.empty() && !has_work();
}

std::vector<RunningNow> Agent::running() const {
  std::vector<RunningNow> out;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].handed.empty()) continue;
    const Handed& running = slots_[slot].handed.front();
    out.push_back({slot, running.item, running.since_ms});
  }
  return out;
}

const Agent::Stopped* Agent::stop_order_for(const AgentItem& item) const {
  const auto it = stopped_.find(item.job);
  return it != stopped_.end() && item.poll <= it->second.up_to ? &it->second : nullptr;
}

// An order concerns what came with the polls up to its own: when all of those have been answered or given up, and
// nothing that they brought is in a slot, it has done its work.
void Agent::forget_stop_orders() {
  std::erase_if(stopped_, [&](const auto& order) {
    const auto& [job, stopped] = order;
    if (!unanswered_.empty() && *unanswered_.begin() <= stopped.up_to) return false;
    return std::ranges::none_of(slots_, [&](const SlotState& slot) {
      return std::ranges::any_of(slot.handed,
                                 [&](const Handed& it) { return it.item.job == job && it.item.poll <= stopped.up_to; });
    });
  });
}

void Agent::recall(std::size_t slot) {
  SlotState& state = slots_[slot];
  if (state.handed.size() < 2 || state.recalled) return;
  state.recalled = true;
  actions_.emplace_back(RecallSlot{slot});
}

void Agent::begin_stop(std::size_t slot, StopReason reason, std::int64_t now_ms) {
  Handed& running = slots_[slot].handed.front();
  const bool saves = reason == StopReason::machine_leaves;
  const bool at_once =
      reason == StopReason::interrupted || reason == StopReason::lease_over || (running.item.grace_ms <= 0 && !saves);
  if (running.stopping != StopReason::none && !at_once) return;
  if (running.stopping == StopReason::none) running.stopping = reason;
  running.kill_at_ms = now_ms + (at_once ? kKillAgainMs : saves ? kSavingMs : running.item.grace_ms);
  const std::int64_t ran_ms = reason == StopReason::timeout ? running.item.timeout_ms : 0;
  running.kill_ran_ms = ran_ms > 0 && !at_once ? ran_ms + running.item.grace_ms : ran_ms;
  actions_.emplace_back(StopItem{slot, running.item.token, at_once ? StopHow::kill : StopHow::terminate, ran_ms});
}

// The one behind the ended one has begun. If an order to kill came meanwhile, it holds for this one too.
void Agent::next_in_slot(std::size_t slot, std::int64_t now_ms) {
  SlotState& state = slots_[slot];
  if (state.handed.size() < 2) state.recalled = false;
  if (state.handed.empty()) return;
  state.handed.front().since_ms = now_ms;
  const Stopped* order = stop_order_for(state.handed.front().item);
  if (order != nullptr && order->mode == StopMode::kill_running) begin_stop(slot, StopReason::cancelled, now_ms);
  if (is_abandoned(state.handed.front().item)) begin_stop(slot, StopReason::lease_over, now_ms);
  if (killing_) {
    begin_stop(slot, StopReason::interrupted, now_ms);
  } else if (interrupted_) {
    interrupt(slot, now_ms);
  }
}

}  // namespace drover
