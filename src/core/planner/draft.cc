#include "core/planner/draft.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_faults.h"

namespace drover {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
// Kinds of items that are looked at when a shape is chosen.
constexpr std::size_t kMostServed = 100;

// A job may as well name the market by its label.
SpotUse wanted_by(const WaitingItems& items) {
  const auto market = items.require.find(std::string(kMarketLabel));
  if (items.spot != SpotUse::prefer || market == items.require.end()) return items.spot;
  return market->second == kSpotMarket ? SpotUse::only : SpotUse::never;
}

}  // namespace

Labels machine_labels(const std::string& fleet, const FleetRules& rules, const std::string& shape, bool spot) {
  Labels labels = rules.labels;
  labels["fleet"] = fleet;
  labels["shape"] = shape;
  labels[std::string(kMarketLabel)] = spot ? kSpotMarket : kOnDemandMarket;
  return labels;
}

void FleetDraft::add(const PlannedMachine& machine) {
  if (machine.requested_ms > now_ms_ - kMinuteMs) ++launched_lately_;
  scaled_ms_ = std::max(scaled_ms_, machine.requested_ms);
  const bool is_live = machine.phase == MachinePhase::coming || machine.phase == MachinePhase::joined;
  if (!is_live) scaled_ms_ = std::max(scaled_ms_, machine.since_ms);
  if (machine.phase == MachinePhase::gone) return;
  ++billed_;
  unanswered_ += machine.is_unanswered ? 1 : 0;
  milli_cpus_ += machine.has.milli_cpus;
  if (!is_live) return;
  live_.push_back(&machine);
  ++machines_;
  live_milli_cpus_ += machine.has.milli_cpus;
  is_warming_ = is_warming_ || !is_warm_at(machine, now_ms_);
}

bool FleetDraft::is_warm_at(const PlannedMachine& machine, std::int64_t at_ms) const {
  return machine.phase == MachinePhase::joined && machine.joined_ms + rules().warm_up_ms <= at_ms;
}

std::uint64_t FleetDraft::in_service_at(std::int64_t at_ms) const {
  const auto count = std::ranges::count_if(live_, [&](const PlannedMachine* it) { return is_warm_at(*it, at_ms); });
  return static_cast<std::uint64_t>(count);
}

// As in machine_labels(), which would be made for each machine and each kind of items.
bool FleetDraft::has_labels(std::string_view shape, bool spot, const Labels& require) const {
  if (injected(FleetFault::labels_ignored)) return true;
  return std::ranges::all_of(require, [&](const auto& it) {
    const auto& [name, value] = it;
    if (name == "fleet") return value == state_.name;
    if (name == "shape") return value == shape;
    if (name == kMarketLabel) return value == (spot ? kSpotMarket : kOnDemandMarket);
    const auto found = rules().labels.find(name);
    return found != rules().labels.end() && found->second == value;
  });
}

bool FleetDraft::suits(const Shape& shape, const WaitingItems& items) const {
  const auto has_market = [&](bool spot) {
    const bool is_wrong = spot ? items.spot == SpotUse::never : items.spot == SpotUse::only;
    return !is_wrong && has_labels(shape.name, spot, items.require);
  };
  const bool has_on_demand = !rules().spot || rules().on_demand;
  return items.ask.fits(shape.has) && ((rules().spot && has_market(true)) || (has_on_demand && has_market(false)));
}

bool FleetDraft::lacks_spot(std::int64_t patience_ms) const {
  return state_.spot_failing_since_ms > 0 && now_ms_ - state_.spot_failing_since_ms >= patience_ms &&
         !injected(FleetFault::never_on_demand);
}

Markets FleetDraft::markets_for(const WaitingItems& items) const {
  if (injected(FleetFault::market_ignored)) return {.spot = rules().spot, .on_demand = !rules().spot};
  if (!rules().spot) return {.on_demand = wanted_by(items) != SpotUse::only};
  switch (wanted_by(items)) {
    case SpotUse::only: return {.spot = true};
    case SpotUse::never: return {.on_demand = rules().on_demand};
    case SpotUse::prefer: break;
  }
  return {.spot = true, .on_demand = rules().on_demand && lacks_spot(items.on_demand_after_ms)};
}

// Spot machines are tried again whenever their wait is over: only so is it known when they can be had again.
bool FleetDraft::launches_spot() const {
  if (!rules().spot) return false;
  if (!rules().on_demand || !lacks_spot(SpotRules{}.on_demand_after_ms)) return true;
  return !injected(FleetFault::spot_not_tried_again) &&
         std::ranges::any_of(state_.shapes, [&](const Shape& it) { return !obstacle(it, true); });
}

void FleetDraft::serve(std::vector<const WaitingItems*> items) {
  served_ = std::move(items);
  if (served_.size() > kMostServed) served_.resize(kMostServed);
}

std::vector<const WaitingItems*> FleetDraft::unserved() const {
  std::vector<const WaitingItems*> out = served_;
  std::set<std::string_view> seen;
  for (const PlannedMachine* machine : live_) {
    if (!seen.insert(machine->shape).second) continue;
    const auto shape = std::ranges::find(state_.shapes, machine->shape, &Shape::name);
    if (shape == state_.shapes.end()) continue;
    std::erase_if(out, [&](const WaitingItems* it) { return suits(*shape, *it); });
  }
  return out;
}

std::int64_t FleetDraft::hourly_microdollars(const Shape& shape, bool spot) const {
  return rules().spot && !spot ? shape.price.on_demand_microdollars : shape.price.microdollars;
}

std::optional<std::string> FleetDraft::obstacle(const Shape& shape, bool spot) const {
  if (state_.deleting) return "the fleet is being deleted";
  if (state_.is_unreadable) return state_.unavailable;
  if (state_.paused) return "the fleet is paused";
  if (!state_.unavailable.empty()) return state_.unavailable;
  const std::int64_t not_before_ms = spot ? state_.spot_not_before_ms : state_.not_before_ms;
  if (not_before_ms > now_ms_ && !injected(FleetFault::planned_while_waiting)) {
    return concat("backing off for ", (not_before_ms - now_ms_ + 999) / 1000, " s after a failure",
                  spot ? " of a spot machine" : "", ": ", spot ? state_.spot_trouble : state_.trouble);
  }
  // Machines of this computer have no market.
  const HourlyPrice& price = shape.price;
  const bool has_bid = spot && rules().provider != "local" && price.on_demand_microdollars > 0;
  if (has_bid && !injected(FleetFault::bid_ignored) &&
      100 * price.microdollars > price.on_demand_microdollars * std::int64_t{rules().bid_percent}) {
    return concat("a spot machine of shape '", shape.name, "' costs ",
                  (100 * price.microdollars + price.on_demand_microdollars - 1) / price.on_demand_microdollars,
                  "% of the on-demand price; the bid is ", rules().bid_percent, "%");
  }
  if (billed_ >= rules().most && !injected(FleetFault::planned_beyond_maximum))
    return concat("at the maximum of ", plural(rules().most, "machine"));
  const std::uint64_t most = rules().most_milli_cpus;
  if (most > 0 && !injected(FleetFault::planned_beyond_cpus) &&
      (milli_cpus_ > most || shape.has.milli_cpus > most - milli_cpus_)) {
    return concat("at the maximum of ", plural(most / 1000, "CPU"), ": ", milli_cpus_ / 1000, " in use, and shape '",
                  shape.name, "' has ", shape.has.milli_cpus / 1000);
  }
  const bool is_limited = rules().launches_per_minute > 0 && !injected(FleetFault::launch_rate_ignored);
  if (is_limited && launched_lately_ >= rules().launches_per_minute) {
    return concat("at the maximum of ", rules().launches_per_minute, " launches per minute");
  }
  if (unanswered_ + launches_ >= kMostUnanswered) {
    return concat("its provider has yet to answer ", plural(unanswered_ + launches_, "launch request"));
  }
  return std::nullopt;
}

bool FleetDraft::launch(const Shape& shape, bool spot, const std::string& reason, FleetPlan& plan) {
  if (obstacle(shape, spot)) return false;
  ++billed_;
  ++machines_;
  ++launched_lately_;
  ++launches_;
  milli_cpus_ += shape.has.milli_cpus;
  live_milli_cpus_ += shape.has.milli_cpus;
  plan.launches.push_back({state_.name, shape, reason, spot});
  plan.launches.back().shape.price.microdollars = hourly_microdollars(shape, spot);
  return true;
}

void FleetDraft::drain(const PlannedMachine& machine, const std::string& reason, FleetPlan& plan) {
  const bool is_left_alone = state_.paused || state_.is_unreadable;
  if (is_left_alone && !state_.deleting && !injected(FleetFault::drained_while_paused)) return;
  if (drains_ >= kMostPlanned || std::erase(live_, &machine) == 0) return;
  ++drains_;
  --machines_;
  live_milli_cpus_ -= machine.has.milli_cpus;
  plan.drains.push_back({state_.name, machine.name, reason});
}

void FleetDraft::scale_to(std::uint64_t target, const std::string& reason, FleetPlan& plan) {
  target = std::clamp(target, std::min(rules().least, rules().most), rules().most);
  if (machines_ > target) {
    std::uint64_t waited_for = 0;
    for (const PlannedMachine* machine : by_loss()) {
      if (machines_ <= target) break;
      const bool holds_messages =
          machine->receipts_since_ms > now_ms_ - kReceiptsMs && !injected(FleetFault::drained_with_receipts);
      if (holds_messages) {
        ++waited_for;
      } else {
        drain(*machine, reason, plan);
      }
    }
    if (machines_ > target && waited_for > 0) {
      plan.notes.push_back(
          {state_.name, concat(reason, "; scale-in waits for messages in flight on ", plural(waited_for, "machine"))});
    }
    return;
  }
  if (state_.shapes.empty() && machines_ < target) {
    plan.notes.push_back({state_.name, state_.unavailable.empty() ? "it has no shape" : state_.unavailable});
    return;
  }
  auto without_machine = unserved();
  while (machines_ < target) {
    const bool spot = launches_spot();
    const Shape* shape = first_shape(spot, without_machine);
    if (shape != nullptr && launch(*shape, spot, reason, plan)) {
      std::erase_if(without_machine, [&](const WaitingItems* it) { return suits(*shape, *it); });
      continue;
    }
    const auto why = obstacle(state_.shapes.front(), spot);
    plan.notes.push_back({state_.name, concat(plural(target - machines_, "machine"), " short: ", why.value_or(""))});
    return;
  }
}

void FleetDraft::lower_to_cpus(std::uint64_t milli_cpus, const std::string& reason, FleetPlan& plan) {
  for (const PlannedMachine* machine : by_loss()) {
    if (live_milli_cpus_ <= milli_cpus) return;
    drain(*machine, reason, plan);
  }
}

void FleetDraft::drain_quarantined(FleetPlan& plan) {
  const auto machines = live_;
  for (const PlannedMachine* it : machines) {
    const bool is_of_no_use = it->phase == MachinePhase::joined && it->items == 0 && !it->quarantine.empty();
    if (is_of_no_use) drain(*it, concat("its worker is quarantined: ", it->quarantine), plan);
  }
}

bool FleetDraft::is_full_for(const Shape& shape) const {
  if (billed_ != machines_) return false;
  const std::uint64_t most = rules().most_milli_cpus;
  return billed_ >= rules().most || (most > 0 && milli_cpus_ + shape.has.milli_cpus > most);
}

// The one that holds most kinds of items that no machine holds; of equals the first. Where that is too large for what
// is left, or too dear, another may do.
const Shape* FleetDraft::first_shape(bool spot, const std::vector<const WaitingItems*>& unserved) const {
  const Shape* best = nullptr;
  std::ptrdiff_t most = -1;
  for (const Shape& shape : state_.shapes) {
    if (obstacle(shape, spot)) continue;
    const auto served = std::ranges::count_if(unserved, [&](const WaitingItems* it) { return suits(shape, *it); });
    if (served <= most) continue;
    best = &shape;
    most = served;
  }
  return best;
}

std::uint64_t FleetDraft::least_milli_cpus() const {
  return std::max(rules().least_milli_cpus, now_ms_ < rules().start_until_ms ? rules().start_milli_cpus : 0);
}

void FleetDraft::raise_to_cpus(std::uint64_t milli_cpus, const std::string& reason, FleetPlan& plan) {
  while (live_milli_cpus_ < milli_cpus) {
    // The largest that is not too large, otherwise the smallest.
    const std::uint64_t missing = milli_cpus - live_milli_cpus_;
    const Shape* best = nullptr;
    const bool spot = launches_spot();
    for (const Shape& it : state_.shapes) {
      if (obstacle(it, spot)) continue;
      const auto excess = [&](const Shape& shape) {
        const std::uint64_t cpus = shape.has.milli_cpus;
        return std::pair(cpus > missing, cpus > missing ? cpus : missing - cpus);
      };
      if (best == nullptr || excess(it) < excess(*best)) best = &it;
    }
    if (best != nullptr && best->has.milli_cpus > 0 && launch(*best, spot, reason, plan)) continue;
    const auto why =
        state_.shapes.empty() ? std::optional<std::string>("it has no shape") : obstacle(state_.shapes.front(), spot);
    plan.notes.push_back({state_.name, concat(missing / 1000, " CPUs short of the minimum: ",
                                              why.value_or("its machines have no CPUs"))});
    return;
  }
}

std::vector<const PlannedMachine*> FleetDraft::by_loss() const {
  std::vector<const PlannedMachine*> out = live_;
  const auto rank = [](const PlannedMachine* it) {
    const bool is_coming = it->phase == MachinePhase::coming;
    const int group = is_coming ? 0 : (it->items == 0) != injected(FleetFault::busy_drained_first) ? 1 : 2;
    const std::int64_t order = is_coming ? -it->requested_ms : it->items == 0 ? it->free_since_ms : it->work_ms;
    return std::tuple(group, order, std::string_view(it->name));
  };
  std::ranges::sort(out, {}, rank);
  return out;
}

}  // namespace drover
