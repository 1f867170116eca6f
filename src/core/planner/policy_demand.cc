// As many machines as the waiting items need.
//
// What waits is first put where there is room: on machines that have joined, that are coming, and that this plan
// launches for others. For what is left machines are launched, in the order of the queue's fleets, with the shapes that
// cost least per item. A machine that has had nothing to do for a while is drained.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_faults.h"
#include "core/planner/policies.h"

namespace drover {
namespace {

/// Machines that are alike in all but their size and what runs on them.
struct RoomKind {
  const FleetDraft* fleet;
  std::string_view shape;
  bool spot;
  const Labels* labels;  // null: those that a machine of the fleet will have
};

/// Machines that are alike to all that look for room, which have it or will have it.
struct Room {
  std::size_t kind;
  Resources has;
  Resources free;

  auto operator<=>(const Room&) const = default;
};

/// What a shape is worth where nobody says what it costs: a CPU is 1000, as are 4 GiB; an accelerator is 16 CPUs.
std::uint64_t worth_of(const Resources& has) {
  std::uint64_t worth = std::min<std::uint64_t>(has.milli_cpus, 1'000'000'000) +
                        (std::min(has.memory_bytes, std::uint64_t{1} << 50) >> 22);
  for (const std::uint64_t count : has.accelerators) worth += 16'000 * std::min<std::uint64_t>(count, 1'000'000);
  return std::max<std::uint64_t>(worth, 1);
}

class DemandPlanner {
 public:
  DemandPlanner(std::vector<FleetDraft>& fleets, const FleetSnapshot& snapshot, FleetPlan& plan)
      : fleets_(fleets), snapshot_(snapshot), plan_(plan) {
    for (FleetDraft& fleet : fleets_) {
      for (const PlannedMachine* it : fleet.live()) {
        if (it->phase == MachinePhase::coming && injected(FleetFault::coming_machine_not_counted)) continue;
        const Labels* labels = it->labels ? &*it->labels : nullptr;
        const std::size_t kind = kind_of({&fleet, it->shape, it->spot, labels});
        ++machines_[{kind, it->has}];
        rooms_[{kind, it->has, it->has.minus(it->used)}].push_back(it);
      }
    }
  }

  void place_all() {
    std::vector<const WaitingItems*> order;
    for (const WaitingItems& it : snapshot_.items) {
      if (it.waiting > 0) order.push_back(&it);
    }
    // The largest first, so that the small ones fill what is left; and those first that not every machine may run.
    std::ranges::stable_sort(order, std::ranges::greater{}, [](const WaitingItems* it) {
      return std::pair(worth_of(it->ask), it->spot != SpotUse::prefer);
    });
    for (const WaitingItems* it : order) least_ = least_of(least_, it->ask);
    for (const WaitingItems* it : order) place(*it);
  }

  /// What waits and gets no machine, a line for each reason.
  void note_waiting() {
    for (const auto& [what, items] : waiting_) {
      plan_.notes.push_back({what.first, concat(plural(items, "item"), " waiting: ", what.second)});
    }
  }

  void drain_idle() {
    // When all is placed: only then it is known that nobody uses it.
    for (const auto& [fleet, machine] : idle_for_others_) {
      if (machine != nullptr && !is_taken(*machine))
        fleet->drain(*machine, "making room for items that it cannot run", plan_);
    }
    for (FleetDraft& fleet : fleets_) {
      if (fleet.rules().policy != ScalingPolicy::demand) continue;
      for (const PlannedMachine* it : idle_machines(fleet)) {
        if (fleet.machines() <= fleet.rules().least && !injected(FleetFault::minimum_drained)) break;
        if (fleet.milli_cpus() < fleet.least_milli_cpus() + it->has.milli_cpus) continue;
        const std::int64_t idle_ms = snapshot_.now_ms - it->free_since_ms;
        const std::int64_t least_ms =
            injected(FleetFault::drained_too_soon) ? fleet.rules().idle_ms / 2 : fleet.rules().idle_ms;
        if (it->free_since_ms == 0 || idle_ms < least_ms || injected(FleetFault::idle_not_drained)) continue;
        fleet.drain(*it, concat("idle for ", idle_ms / 1000, " s"), plan_);
      }
    }
  }

 private:
  // Among machines of one kind and size, the fullest are filled first, so that idle ones can be drained.
  void place(const WaitingItems& items) {
    std::uint64_t left = items.waiting;
    suits_.assign(kinds_.size(), std::nullopt);
    for (auto room = rooms_.begin(); room != rooms_.end() && left > 0;) {
      if (items.ask.fits(room->first.free) && suits(room->first.kind, items)) fill(*room, items.ask, left);
      room = room->second.empty() ? rooms_.erase(room) : std::next(room);
    }
    if (left > 0) launch_for(items, left);
  }

  /// Puts as many of the `left` items on these machines as they hold, and subtracts those from `left`.
  void fill(std::pair<const Room, std::vector<const PlannedMachine*>>& some, const Resources& ask,
            std::uint64_t& left) {
    const Room& room = some.first;
    std::vector<const PlannedMachine*>& machines = some.second;
    const auto put = [&](std::uint64_t items, std::uint64_t on) {
      std::vector<const PlannedMachine*> fuller(machines.end() - static_cast<std::ptrdiff_t>(on), machines.end());
      machines.resize(machines.size() - on);
      left -= items * on;
      add_room({room.kind, room.has, room.free.minus(ask.times(items))}, fuller);
    };
    const std::uint64_t most = room.free.holds(ask);
    if (const std::uint64_t full = std::min<std::uint64_t>(left / most, machines.size()); full > 0) put(most, full);
    if (left > 0 && !machines.empty()) put(left, 1);
  }

  /// Adds machines that have just been given items. They have less room than before and so sort before the entry that
  /// they came from: place() does not visit them twice.
  void add_room(const Room& room, const std::vector<const PlannedMachine*>& machines) {
    for (const PlannedMachine* it : machines) {
      if (it != nullptr) taken_[index_of(*it)] = true;
    }
    if (!least_.fits(room.free)) return;
    std::vector<const PlannedMachine*>& all = rooms_[room];
    all.insert(all.end(), machines.begin(), machines.end());
  }

  std::size_t index_of(const PlannedMachine& machine) const {
    return static_cast<std::size_t>(&machine - snapshot_.machines.data());
  }
  bool is_taken(const PlannedMachine& machine) const { return taken_[index_of(machine)]; }

  /// Those of it that nothing will use, as it would drain them.
  std::vector<const PlannedMachine*> idle_machines(const FleetDraft& fleet) const {
    std::vector<const PlannedMachine*> out;
    for (const PlannedMachine* it : fleet.live()) {
      const bool is_idle = it->phase == MachinePhase::joined && it->items == 0;
      if (is_idle && !is_taken(*it)) out.push_back(it);
    }
    std::ranges::sort(
        out, {}, [](const PlannedMachine* it) { return std::tuple(it->free_since_ms, std::string_view(it->name)); });
    return out;
  }

  std::size_t kind_of(const RoomKind& kind) {
    // Bounds the comparisons where every machine has different labels.
    constexpr std::size_t kMostCompared = 4;
    std::vector<std::size_t>& alike = kinds_by_shape_[{kind.fleet, kind.shape, kind.spot}];
    std::size_t compared = 0;
    for (auto it = alike.rbegin(); it != alike.rend() && ++compared <= kMostCompared; ++it) {
      const Labels* labels = kinds_[*it].labels;
      if (labels == kind.labels || (labels != nullptr && kind.labels != nullptr && *labels == *kind.labels)) return *it;
    }
    alike.push_back(kinds_.size());
    kinds_.push_back(kind);
    return alike.back();
  }

  /// Whether the items that are being placed may run on machines of this kind.
  bool suits(std::size_t kind, const WaitingItems& items) {
    if (kind >= suits_.size()) suits_.resize(kinds_.size());
    std::optional<bool>& known = suits_[kind];
    if (!known) known = serves_items(kinds_[kind].fleet->state(), items) && may_use(kinds_[kind], items);
    return *known;
  }

  static bool may_use(const RoomKind& kind, const WaitingItems& items) {
    const bool is_wrong_market = kind.spot ? items.spot == SpotUse::never : items.spot == SpotUse::only;
    if (is_wrong_market && !injected(FleetFault::market_ignored)) return false;
    return kind.labels != nullptr ? has_all(*kind.labels, items.require) || injected(FleetFault::labels_ignored)
                                  : kind.fleet->has_labels(kind.shape, kind.spot, items.require);
  }

  /// The least that anything asks for, of each kind of resource.
  static Resources least_of(const Resources& a, const Resources& b) {
    Resources out{std::min(a.milli_cpus, b.milli_cpus), std::min(a.memory_bytes, b.memory_bytes), {}};
    for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
      out.accelerators[kind] = std::min(a.accelerators[kind], b.accelerators[kind]);
    }
    return out;
  }

  /// The fleets that could run it, as its queue lists them.
  std::vector<FleetDraft*> fleets_of(const WaitingItems& items) {
    std::vector<FleetDraft*> out;
    const auto add = [&](FleetDraft& fleet) {
      if (fleet.rules().policy == ScalingPolicy::demand) out.push_back(&fleet);
    };
    if (items.fleets.empty()) {
      for (FleetDraft& fleet : fleets_) add(fleet);
      return out;
    }
    for (const std::string& name : items.fleets) {
      for (FleetDraft& fleet : fleets_) {
        if (fleet.state().name == name && (out.empty() || !injected(FleetFault::next_fleet_ignored))) add(fleet);
      }
    }
    return out;
  }

  void launch_for(const WaitingItems& items, std::uint64_t left) {
    const std::string waiting = concat(plural(left, "item"), " waiting");
    std::vector<std::pair<FleetDraft*, Markets>> full;
    for (FleetDraft* fleet : fleets_of(items)) {
      std::string why = "the fleet has no shape that is large enough";
      const Markets markets = fleet->markets_for(items);
      if (!markets.spot && !markets.on_demand) {
        why = fleet->rules().spot ? "not allowed on spot machines, and the fleet launches no on-demand machines"
                                  : "allowed on spot machines only, and the fleet launches none";
      }
      if (markets.spot) launch_in(*fleet, true, items, waiting, left, why);
      if (markets.on_demand) launch_in(*fleet, false, items, waiting, left, why);
      if (left == 0) return;
      full.emplace_back(fleet, markets);
      waiting_[{fleet->state().name, why}] += left;
    }
    for (const auto& [fleet, markets] : full) make_room(*fleet, markets, items);
  }

  /// In a full fleet, one that has nothing to do and that nothing that waits could use gives way to another.
  void make_room(FleetDraft& fleet, const Markets& markets, const WaitingItems& items) {
    if (injected(FleetFault::no_room_made) || idle_for_others_.contains(&fleet)) return;
    const bool would_help = std::ranges::any_of(fleet.state().shapes, [&](const Shape& shape) {
      const bool has_labels = (markets.spot && fleet.has_labels(shape.name, true, items.require)) ||
                              (markets.on_demand && fleet.has_labels(shape.name, false, items.require));
      return items.ask.fits(shape.has) && has_labels && fleet.is_full_for(shape);
    });
    if (!would_help) return;
    // The one that has been idle for longest. Where there is none there will be none for other items either.
    const PlannedMachine*& idlest = idle_for_others_[&fleet];
    for (const PlannedMachine* it : fleet.live()) {
      const bool is_idle = it->phase == MachinePhase::joined && it->items == 0;
      if (!is_idle || is_taken(*it)) continue;
      if (idlest == nullptr || it->free_since_ms < idlest->free_since_ms) idlest = it;
    }
  }

  void launch_in(FleetDraft& fleet, bool spot, const WaitingItems& items, const std::string& reason,
                 std::uint64_t& left, std::string& why) {
    std::optional<std::uint64_t> at_once;
    while (left > 0) {
      const Shape* shape = best_shape(fleet, spot, items, left, why);
      if (shape == nullptr) return;
      if (has_warm_up(fleet, items)) {
        if (!at_once) at_once = side_by_side(items);
        if (!is_worth_it(fleet, items, left, *at_once, why)) return;
      }
      const std::uint64_t count = std::min(left, shape->has.holds(items.ask));
      if (!fleet.launch(*shape, spot, reason, plan_)) return;
      if (at_once) *at_once += shape->has.holds(items.ask);
      const std::size_t kind = kind_of({&fleet, shape->name, spot, nullptr});
      ++machines_[{kind, shape->has}];
      add_room({kind, shape->has, shape->has.minus(items.ask.times(count))}, {nullptr});
      left -= count;
    }
  }

  /// Whether all of its shapes have a price. Prices cannot be compared with worth.
  static bool has_prices(const FleetDraft& fleet) {
    return std::ranges::all_of(fleet.state().shapes, [](const Shape& it) { return it.price.microdollars > 0; });
  }

  /// The lowest price per item that it would run or, where not all prices are known, the least worth; of equals the
  /// largest.
  static const Shape* best_shape(const FleetDraft& fleet, bool spot, const WaitingItems& items, std::uint64_t left,
                                 std::string& why) {
    if (fleet.state().shapes.empty()) {
      if (const auto obstacle = fleet.obstacle({}, spot)) why = *obstacle;
      return nullptr;
    }
    const Shape* best = nullptr;
    const bool by_price = has_prices(fleet);
    auto best_score = std::tuple(std::uint64_t{0}, std::uint64_t{0});
    for (const Shape& shape : fleet.state().shapes) {
      if (!items.ask.fits(shape.has)) continue;
      if (!fleet.has_labels(shape.name, spot, items.require)) {
        why = "its machines do not have the required labels";
        continue;
      }
      if (const auto obstacle = fleet.obstacle(shape, spot)) {
        why = *obstacle;
        continue;
      }
      const std::uint64_t used = std::min(left, shape.has.holds(items.ask));
      const std::uint64_t cost =
          by_price ? static_cast<std::uint64_t>(fleet.hourly_microdollars(shape, spot)) : worth_of(shape.has);
      const auto score = std::tuple(1000 * cost / used, ~used);
      if (best != nullptr && best_score <= score) continue;
      best = &shape;
      best_score = score;
    }
    return best;
  }

  /// How many run side by side on the machines that could run them, when these have nothing else to do.
  std::uint64_t side_by_side(const WaitingItems& items) {
    std::uint64_t out = 0;
    for (const auto& [machine, count] : machines_) {
      const auto& [kind, has] = machine;
      if (out >= items.waiting) break;
      if (items.ask.fits(has) && suits(kind, items)) out += count * std::min(has.holds(items.ask), items.waiting);
    }
    return out;
  }

  static bool has_warm_up(const FleetDraft& fleet, const WaitingItems& items) {
    return fleet.rules().warm_up_ms > 0 && items.item_ms > 0;
  }

  /// A machine that takes a minute to warm up is not launched for what others will have done by then.
  static bool is_worth_it(const FleetDraft& fleet, const WaitingItems& items, std::uint64_t left, std::uint64_t at_once,
                          std::string& why) {
    if (at_once == 0) return true;
    const std::uint64_t rounds = left / at_once + 1;  // and what runs now
    if (rounds >= static_cast<std::uint64_t>(fleet.rules().warm_up_ms / items.item_ms)) return true;
    why = "the existing machines will finish the work before a new one has warmed up";
    return false;
  }

  std::vector<FleetDraft>& fleets_;
  const FleetSnapshot& snapshot_;
  FleetPlan& plan_;
  std::vector<RoomKind> kinds_;
  std::map<std::tuple<const FleetDraft*, std::string_view, bool>, std::vector<std::size_t>> kinds_by_shape_;
  std::vector<std::optional<bool>> suits_;                               // of the items that are being placed, by kind
  std::map<std::pair<std::size_t, Resources>, std::uint64_t> machines_;  // how many are of a kind and a size
  std::map<Room, std::vector<const PlannedMachine*>> rooms_;             // null: this plan launches it
  Resources least_ = Resources::endless();
  std::vector<bool> taken_ = std::vector<bool>(snapshot_.machines.size());  // something that waits will go there
  std::map<FleetDraft*, const PlannedMachine*> idle_for_others_;            // one of each full fleet; null: it has none
  std::map<std::pair<std::string, std::string>, std::uint64_t> waiting_;    // items, by fleet and why
};

}  // namespace

void plan_for_demand(std::vector<FleetDraft>& fleets, const FleetSnapshot& snapshot, FleetPlan& plan) {
  DemandPlanner planner(fleets, snapshot, plan);
  planner.place_all();
  planner.drain_idle();
  planner.note_waiting();
}

}  // namespace drover
