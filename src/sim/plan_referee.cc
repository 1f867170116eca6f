#include "sim/plan_referee.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/text.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// As many items as a machine is said to hold: those that ask for nothing have room everywhere.
constexpr std::uint64_t kMostHeld = 1'000'000;
constexpr std::int64_t kReceiptsMs = 10 * kMinute;

Labels labels_of(const FleetState& fleet, const std::string& shape, bool spot) {
  Labels labels = fleet.rules.labels;
  labels["fleet"] = fleet.name;
  labels["shape"] = shape;
  labels["market"] = spot ? "spot" : "on-demand";
  return labels;
}

bool serves(const FleetState& fleet, const WaitingItems& items) {
  return items.fleets.empty() || std::ranges::find(items.fleets, fleet.name) != items.fleets.end();
}

/// One fleet, before and after the plan.
struct FleetCase {
  const FleetState& state;
  std::int64_t now_ms;
  std::vector<const PlannedMachine*> live = {};  // coming or joined
  std::vector<const PlannedLaunch*> launches = {};
  std::vector<const PlannedDrain*> drains = {};
  std::uint64_t billed = 0;  // not gone, and those that are launched
  std::uint64_t milli_cpus = 0;
  std::uint64_t launched_lately = 0;
  std::uint64_t unanswered = 0;  // launches

  const FleetRules& rules() const { return state.rules; }
  std::uint64_t least() const { return std::min(rules().least, rules().most); }
  /// After the plan.
  std::uint64_t machines() const { return live.size() + launches.size() - drains.size(); }
  bool is_full_plan() const {
    return unanswered + launches.size() >= kMostUnanswered || drains.size() >= kMostPlanned;
  }
  bool may_launch(bool spot) const {
    const std::int64_t not_before_ms = spot ? state.spot_not_before_ms : state.not_before_ms;
    return !state.deleting && !state.paused && state.unavailable.empty() && not_before_ms <= now_ms;
  }
  /// Whether a spot machine of this price is beyond the bid.
  bool is_too_dear(const HourlyPrice& price) const {
    return price.microdollars * 100 > price.on_demand_microdollars * static_cast<std::int64_t>(rules().bid_percent);
  }
  /// For so long no spot machine could be had; nothing: they can.
  std::optional<std::int64_t> spot_fails_ms() const {
    if (state.spot_failing_since_ms == 0) return std::nullopt;
    return now_ms - state.spot_failing_since_ms;
  }
  /// Whether it has others in place of spot machines for those who have so much patience.
  bool replaces_spot(std::int64_t patience_ms) const {
    return rules().spot && rules().on_demand && spot_fails_ms() && *spot_fails_ms() >= patience_ms;
  }
  /// Whether the fleet may launch such a machine for the items now.
  bool has_market(bool spot, const WaitingItems& items) const {
    const auto label = items.require.find("market");
    if (items.spot != SpotUse::prefer || label != items.require.end()) {
      const bool is_only = items.spot == SpotUse::only || (label != items.require.end() && label->second == "spot");
      const bool is_right = spot == is_only;
      return is_right && (spot == rules().spot || (!spot && rules().on_demand));
    }
    return spot == rules().spot || (!spot && replaces_spot(items.on_demand_after_ms));
  }
  bool has_surplus_cpus() const {
    std::uint64_t cpus = 0;
    for (const PlannedMachine* it : live) cpus += it->has.milli_cpus;
    return rules().most_milli_cpus > 0 && cpus > rules().most_milli_cpus;
  }
  /// It may have no further machine of some shape.
  bool is_full() const {
    const bool lacks_cpus = rules().most_milli_cpus > 0 && std::ranges::any_of(state.shapes, [&](const Shape& it) {
                              return milli_cpus + it.has.milli_cpus > rules().most_milli_cpus;
                            });
    return billed >= rules().most || lacks_cpus;
  }
  /// Whether it could have one more where the policy only counts machines.
  bool takes_more(const Shape& shape) const {
    return has_room_for(shape, rules().spot) ||
           (replaces_spot(SpotRules{}.on_demand_after_ms) && has_room_for(shape, false));
  }
  /// Whether one more of the shape would be within its bounds.
  bool has_room_for(const Shape& shape, bool spot) const {
    const bool has_cpus = rules().most_milli_cpus == 0 || milli_cpus + shape.has.milli_cpus <= rules().most_milli_cpus;
    const bool may_now = rules().launches_per_minute == 0 || launched_lately < rules().launches_per_minute;
    return may_launch(spot) && !(spot && is_too_dear(shape.price)) && billed < rules().most && has_cpus && may_now &&
           !is_full_plan();
  }
  bool is_warming() const {
    return std::ranges::any_of(live, [&](const PlannedMachine* it) {
      return it->phase == MachinePhase::coming || it->joined_ms + rules().warm_up_ms > now_ms;
    });
  }
  bool is_on_demand() const { return rules().policy == ScalingPolicy::demand && !state.paused && !state.deleting; }
};

class PlanReferee {
 public:
  PlanReferee(const FleetSnapshot& snapshot, const FleetPlan& plan) : snapshot_(snapshot) {
    for (const FleetState& state : snapshot.fleets) cases_.push_back({state, snapshot.now_ms});
    for (const PlannedMachine& it : snapshot.machines) {
      if (FleetCase* fleet = find(it.fleet)) add(*fleet, it);
    }
    for (const PlannedLaunch& it : plan.launches) {
      FleetCase* fleet = find(it.fleet);
      if (fleet == nullptr) continue;
      fleet->launches.push_back(&it);
      ++fleet->billed;
      ++fleet->launched_lately;
      fleet->milli_cpus += it.shape.has.milli_cpus;
    }
    for (const PlannedDrain& it : plan.drains) {
      if (FleetCase* fleet = find(it.fleet)) fleet->drains.push_back(&it);
    }
  }

  std::optional<std::string> wrong() {
    for (const FleetCase& fleet : cases_) {
      inspect_launches(fleet);
      inspect_drains(fleet);
      inspect_target(fleet);
    }
    inspect_waiting();
    return wrong_;
  }

 private:
  FleetCase* find(const std::string& name) {
    const auto found = std::ranges::find(cases_, name, [](const FleetCase& it) { return it.state.name; });
    return found == cases_.end() ? nullptr : &*found;
  }

  static void add(FleetCase& fleet, const PlannedMachine& machine) {
    if (machine.requested_ms > fleet.now_ms - kMinute) ++fleet.launched_lately;
    if (machine.phase == MachinePhase::gone) return;
    ++fleet.billed;
    fleet.unanswered += machine.is_unanswered ? 1 : 0;
    fleet.milli_cpus += machine.has.milli_cpus;
    const bool is_live = machine.phase == MachinePhase::coming || machine.phase == MachinePhase::joined;
    if (is_live) fleet.live.push_back(&machine);
  }

  void fail(const FleetCase& fleet, std::string_view what) {
    if (!wrong_) wrong_ = concat("the plan for fleet ", fleet.state.name, " ", what);
  }

  void inspect_launches(const FleetCase& fleet) {
    if (fleet.launches.empty()) return;
    if (fleet.billed > fleet.rules().most) fail(fleet, "goes beyond its maximum of machines");
    const std::uint64_t most_cpus = fleet.rules().most_milli_cpus;
    if (most_cpus > 0 && fleet.milli_cpus > most_cpus) fail(fleet, "goes beyond its maximum of CPUs");
    const std::uint64_t per_minute = fleet.rules().launches_per_minute;
    if (per_minute > 0 && fleet.launched_lately > per_minute) fail(fleet, "launches too many a minute");
    for (const PlannedLaunch* it : fleet.launches) {
      const bool is_its =
          std::ranges::find(fleet.state.shapes, it->shape.name, &Shape::name) != fleet.state.shapes.end();
      if (!is_its) fail(fleet, "launches a shape that it does not have");
      if (!fleet.may_launch(it->spot)) fail(fleet, "launches machines although it may not");
      if (it->spot && !fleet.rules().spot) fail(fleet, "launches a spot machine, and is to have none");
      if (!it->spot && fleet.rules().spot && !fleet.rules().on_demand)
        fail(fleet, "launches another than a spot machine");
      if (it->spot && fleet.is_too_dear(it->shape.price)) fail(fleet, "pays more for a spot machine than its bid");
      if (it->reason.empty()) fail(fleet, "launches without a reason");
      const auto shape = std::ranges::find(fleet.state.shapes, it->shape.name, &Shape::name);
      const bool has_spot = fleet.rules().spot && shape != fleet.state.shapes.end() && fleet.may_launch(true) &&
                            !fleet.is_too_dear(shape->price);
      if (!it->spot && has_spot && fleet.rules().policy != ScalingPolicy::demand)
        fail(fleet, "launches another machine although it could have a spot machine");
    }
  }

  void inspect_drains(const FleetCase& fleet) {
    std::set<std::string> drained;
    for (const PlannedDrain* it : fleet.drains) {
      const auto machine = std::ranges::find(fleet.live, it->machine, &PlannedMachine::name);
      if (machine == fleet.live.end() || !drained.insert(it->machine).second) {
        return fail(fleet, "drains what it cannot");
      }
      const bool is_surplus = fleet.live.size() > fleet.rules().most || fleet.has_surplus_cpus();
      const bool holds_nothing = (*machine)->phase == MachinePhase::joined && (*machine)->items == 0;
      const bool makes_way = holds_nothing && (fleet.is_full() || !(*machine)->quarantine.empty());
      if (fleet.is_on_demand() && !is_surplus && !makes_way && !is_idle(fleet, **machine)) {
        fail(fleet, "drains what is not idle");
      }
      if (makes_way && !is_surplus && fleet.is_on_demand() && could_use(fleet, **machine)) {
        fail(fleet, "drains what something that waits could use");
      }
    }
    if (!fleet.is_on_demand() && !fleet.state.deleting) inspect_loss(fleet, drained);
    if (fleet.state.deleting) {
      if (fleet.machines() > 0 && !fleet.is_full_plan()) fail(fleet, "keeps machines although it is being deleted");
      return;
    }
    if (fleet.state.paused && !fleet.drains.empty()) fail(fleet, "drains machines although it is paused");
    const bool gives_way = fleet.is_full() || std::ranges::any_of(fleet.live, [&](const PlannedMachine* it) {
                             return !it->quarantine.empty() && drained.contains(it->name);
                           });
    if (!fleet.drains.empty() && fleet.machines() < fleet.least() && !gives_way) fail(fleet, "goes below its minimum");
    if (fleet.state.paused || fleet.is_full_plan()) return;
    const bool holds_messages = std::ranges::any_of(
        fleet.live, [&](const PlannedMachine* it) { return it->receipts_since_ms > fleet.now_ms - kReceiptsMs; });
    if (fleet.machines() > fleet.rules().most && !holds_messages) fail(fleet, "stays beyond its maximum");
    const bool nothing_waits = std::ranges::all_of(snapshot_.items, [](const auto& it) { return it.waiting == 0; });
    for (const PlannedMachine* it : fleet.live) {
      const bool is_surplus = fleet.is_on_demand() && nothing_waits && fleet.machines() > fleet.least();
      if (is_surplus && is_idle(fleet, *it) && !drained.contains(it->name)) fail(fleet, "keeps what is idle");
    }
  }

  // Those that hold something are the last.
  void inspect_loss(const FleetCase& fleet, const std::set<std::string>& drained) {
    bool drains_busy = false;
    bool keeps_idle = false;
    for (const PlannedMachine* it : fleet.live) {
      const bool holds_messages = it->receipts_since_ms > fleet.now_ms - kReceiptsMs;
      const bool is_surplus = fleet.live.size() > fleet.rules().most || fleet.has_surplus_cpus();
      if (holds_messages && drained.contains(it->name) && !fleet.state.paused && !is_surplus) {
        fail(fleet, "drains a machine on which something holds messages");
      }
      drains_busy = drains_busy || (it->items > 0 && drained.contains(it->name));
      keeps_idle = keeps_idle || (it->items == 0 && !drained.contains(it->name));
    }
    if (drains_busy && keeps_idle) fail(fleet, "drains a busy machine, and keeps an idle one");
  }

  /// Something waits that has no room anywhere else.
  bool could_use(const FleetCase& fleet, const PlannedMachine& machine) const {
    if (!machine.quarantine.empty()) return false;
    std::uint64_t kinds = 0;
    for (const WaitingItems& it : snapshot_.items) kinds += it.waiting > 0 ? 1 : 0;
    return kinds == 1 && std::ranges::any_of(snapshot_.items, [&](const WaitingItems& it) {
             return it.waiting > 0 && suits(fleet, machine, machine.has.minus(machine.used), it) &&
                    !is_idle(fleet, machine);
           });
  }

  static bool is_idle(const FleetCase& fleet, const PlannedMachine& machine) {
    return machine.phase == MachinePhase::joined && machine.items == 0 && machine.free_since_ms > 0 &&
           fleet.now_ms - machine.free_since_ms >= fleet.rules().idle_ms;
  }

  // Of policies that have a number of machines.
  void inspect_target(const FleetCase& fleet) {
    if (fleet.state.deleting || fleet.state.paused || fleet.is_full_plan() || fleet.state.shapes.empty()) return;
    std::optional<std::uint64_t> wanted = fleet.rules().policy == ScalingPolicy::demand
                                              ? std::optional(std::max<std::uint64_t>(fleet.machines(), 0))
                                              : target(fleet);
    if (!wanted) return;
    const std::uint64_t clamped = std::clamp(*wanted, fleet.least(), fleet.rules().most);
    const bool is_short = fleet.machines() < clamped && fleet.takes_more(fleet.state.shapes.front());
    if (is_short) fail(fleet, concat("has ", fleet.machines(), " machines instead of ", clamped));
    const bool may_drain = fleet.rules().policy != ScalingPolicy::step || !fleet.is_warming();
    const bool is_surplus = fleet.live.size() > fleet.rules().most;
    if (!may_drain && !fleet.drains.empty() && !is_surplus) fail(fleet, "drains machines while others warm up");
    const bool holds_messages = std::ranges::any_of(
        fleet.live, [&](const PlannedMachine* it) { return it->receipts_since_ms > fleet.now_ms - kReceiptsMs; });
    if (fleet.machines() > clamped && may_drain && !holds_messages) {
      fail(fleet, concat("has ", fleet.machines(), " machines instead of ", clamped));
    }
  }

  std::optional<std::uint64_t> target(const FleetCase& fleet) const {
    const FleetRules& rules = fleet.rules();
    if (rules.policy == ScalingPolicy::fixed) return rules.desired;
    std::uint64_t items = 0;
    std::uint64_t ms = 0;
    bool is_unknown = !rules.stream.empty();
    if (const auto depth = snapshot_.streams.find(rules.stream); depth != snapshot_.streams.end()) {
      items = depth->second.visible + depth->second.in_flight;
    }
    for (const WaitingItems& it : snapshot_.items) {
      const bool counts = rules.queue.empty() ? serves(fleet.state, it) : it.queue == rules.queue;
      if (!rules.stream.empty() || !counts || (it.in_hands == 0 && !could_run(fleet, it))) continue;
      items += it.waiting + it.in_hands;
      ms += (it.waiting + it.in_hands) * static_cast<std::uint64_t>(it.item_ms);
      is_unknown = is_unknown || (it.item_ms == 0 && it.waiting + it.in_hands > 0);
    }
    if (rules.policy == ScalingPolicy::step) return step_target(fleet, static_cast<std::int64_t>(items));
    if (rules.items_per_machine > 0) return (items + rules.items_per_machine - 1) / rules.items_per_machine;
    const std::uint64_t seconds = (ms + 999) / 1000;
    const std::uint64_t wanted = (seconds + rules.seconds_per_machine - 1) / rules.seconds_per_machine;
    return std::max<std::uint64_t>(wanted, is_unknown && items > 0 ? 1 : 0);
  }

  static bool could_run(const FleetCase& fleet, const WaitingItems& items) {
    const FleetRules& rules = fleet.rules();
    return std::ranges::any_of(fleet.state.shapes, [&](const Shape& shape) {
      const auto holds = [&](bool spot) {
        const bool is_wrong = spot ? items.spot == SpotUse::never : items.spot == SpotUse::only;
        return items.ask.fits(shape.has) && !is_wrong &&
               has_all(labels_of(fleet.state, shape.name, spot), items.require);
      };
      return (rules.spot && holds(true)) || ((!rules.spot || rules.on_demand) && holds(false));
    });
  }

  // Where alarms set a number: those that change one depend on when they last did.
  static std::optional<std::uint64_t> step_target(const FleetCase& fleet, std::int64_t metric) {
    std::optional<std::uint64_t> wanted;
    for (const StepAlarm& alarm : fleet.rules().alarms) {
      const bool is_above = alarm.comparison == Comparison::at_least;
      if (!is_above && alarm.comparison != Comparison::below) return std::nullopt;
      const std::int64_t distance = metric - alarm.threshold;
      if (is_above != (distance >= 0)) continue;
      for (const ScalingStep& step : alarm.steps) {
        const bool is_in =
            is_above ? distance >= step.lower.value_or(distance) && distance < step.upper.value_or(distance + 1)
                     : distance > step.lower.value_or(distance - 1) && distance <= step.upper.value_or(distance);
        if (!is_in) continue;
        if (alarm.adjustment != Adjustment::exact) return std::nullopt;
        wanted = std::max(wanted.value_or(0), static_cast<std::uint64_t>(step.value));
      }
    }
    return wanted;
  }

  void inspect_waiting() {
    std::uint64_t kinds = 0;
    for (const WaitingItems& it : snapshot_.items) kinds += it.waiting > 0 ? 1 : 0;
    for (const WaitingItems& it : snapshot_.items) {
      if (it.waiting == 0) continue;
      inspect_unserved(it);
      if (kinds != 1) continue;
      inspect_surplus(it);
      inspect_room_made(it);
    }
    for (const FleetCase& fleet : cases_) {
      const bool is_for_nothing =
          kinds == 0 && fleet.is_on_demand() && fleet.live.size() + fleet.launches.size() > fleet.least();
      if (is_for_nothing && !fleet.launches.empty()) fail(fleet, "launches machines for nothing");
    }
  }

  /// So much of a machine that is there.
  static bool suits(const FleetCase& fleet, const PlannedMachine& machine, const Resources& has,
                    const WaitingItems& items) {
    if (!machine.labels) return suits(fleet, {machine.shape, has}, machine.spot, items);
    const bool is_wrong_market = machine.spot ? items.spot == SpotUse::never : items.spot == SpotUse::only;
    return serves(fleet.state, items) && items.ask.fits(has) && !is_wrong_market &&
           has_all(*machine.labels, items.require);
  }

  static bool suits(const FleetCase& fleet, const Shape& shape, bool spot, const WaitingItems& items) {
    const bool is_wrong_market = spot ? items.spot == SpotUse::never : items.spot == SpotUse::only;
    return serves(fleet.state, items) && items.ask.fits(shape.has) && !is_wrong_market &&
           has_all(labels_of(fleet.state, shape.name, spot), items.require);
  }

  /// Whether a machine, or one that is launched, would have room for it if it was empty.
  bool has_room_somewhere(const WaitingItems& items) const {
    return std::ranges::any_of(cases_, [&](const FleetCase& fleet) {
      return std::ranges::any_of(fleet.live, [&](const auto* it) { return suits(fleet, *it, it->has, items); }) ||
             std::ranges::any_of(fleet.launches,
                                 [&](const auto* it) { return suits(fleet, it->shape, it->spot, items); });
    });
  }

  // Nothing else waits, so machines of a full fleet that have nothing to do are in the way of what it could launch.
  void inspect_room_made(const WaitingItems& items) {
    if (has_room_somewhere(items)) return;
    for (const FleetCase& fleet : cases_) {
      const bool is_plain = fleet.is_on_demand() && !fleet.rules().spot && fleet.launches.empty();
      const bool some_leave = fleet.billed != fleet.live.size() || !fleet.drains.empty();
      if (!is_plain || some_leave || fleet.is_full_plan()) continue;
      const bool would_help = std::ranges::any_of(fleet.state.shapes, [&](const Shape& shape) {
        const std::uint64_t most = fleet.rules().most_milli_cpus;
        const bool is_full =
            fleet.billed >= fleet.rules().most || (most > 0 && fleet.milli_cpus + shape.has.milli_cpus > most);
        return is_full && fleet.has_market(false, items) && suits(fleet, shape, false, items);
      });
      const bool has_idle = std::ranges::any_of(
          fleet.live, [](const auto* it) { return it->phase == MachinePhase::joined && it->items == 0; });
      if (would_help && has_idle) fail(fleet, "keeps an idle machine in the way of items that have room nowhere");
    }
  }

  // It has room nowhere, not even on a machine that is empty, and a fleet could have one more that suits it.
  void inspect_unserved(const WaitingItems& items) {
    if (has_room_somewhere(items)) return;
    const FleetCase* could = nullptr;
    for (const FleetCase& fleet : cases_) {
      if (!fleet.is_on_demand()) continue;
      const bool takes_more = std::ranges::any_of(fleet.state.shapes, [&](const Shape& shape) {
        return std::ranges::any_of(std::array{true, false}, [&](bool spot) {
          return fleet.has_market(spot, items) && suits(fleet, shape, spot, items) && fleet.has_room_for(shape, spot);
        });
      });
      if (takes_more && could == nullptr) could = &fleet;
    }
    if (could != nullptr) fail(*could, "launches no machines for another items that have room nowhere");
  }

  // All that is launched is for these.
  void inspect_surplus(const WaitingItems& items) {
    std::uint64_t room = 0;
    for (const FleetCase& fleet : cases_) {
      for (const PlannedMachine* it : fleet.live) {
        const bool stays = std::ranges::find(fleet.drains, it->name, &PlannedDrain::machine) == fleet.drains.end();
        if (stays && suits(fleet, *it, it->has, items))
          room += std::min(it->has.minus(it->used).holds(items.ask), kMostHeld);
      }
    }
    const std::uint64_t left = items.waiting - std::min(items.waiting, room);
    std::uint64_t launched = 0;
    for (const FleetCase& fleet : cases_) {
      if (!fleet.is_on_demand() || fleet.live.size() + fleet.launches.size() <= fleet.least()) continue;
      for (const PlannedLaunch* it : fleet.launches) {
        if (it->reason.starts_with("the minimum")) continue;
        if (launched >= left) return fail(fleet, "launches more than what waits needs");
        if (!suits(fleet, it->shape, it->spot, items)) return fail(fleet, "launches what suits nothing that waits");
        launched += std::min(it->shape.has.holds(items.ask), kMostHeld);
      }
    }
  }

  const FleetSnapshot& snapshot_;
  std::vector<FleetCase> cases_;
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> unsound(const FleetSnapshot& snapshot, const FleetPlan& plan) {
  return PlanReferee(snapshot, plan).wrong();
}

}  // namespace drover::sim
