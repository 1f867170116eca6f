// So many items, or seconds of work, for each machine.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_faults.h"
#include "core/planner/policies.h"

namespace drover {
namespace {

std::uint64_t rounded_up(std::uint64_t amount, std::uint64_t by) {
  return amount / by + (amount % by == 0 || injected(FleetFault::backlog_rounded_down) ? 0 : 1);
}

}  // namespace

bool serves_items(const FleetState& fleet, const WaitingItems& items) {
  return items.fleets.empty() || std::ranges::find(items.fleets, fleet.name) != items.fleets.end();
}

// Whether a machine of the fleet could run them: others would keep it from ever scaling in.
bool could_run(const FleetState& fleet, const WaitingItems& items) {
  const FleetDraft draft(fleet, 0);
  return std::ranges::any_of(fleet.shapes, [&](const Shape& shape) { return draft.suits(shape, items); });
}

Backlog backlog_of(const FleetState& fleet, const FleetSnapshot& snapshot) {
  Backlog out;
  if (!fleet.rules.stream.empty()) {
    const auto depth = snapshot.streams.find(fleet.rules.stream);
    if (depth != snapshot.streams.end()) out.items = depth->second.visible + depth->second.in_flight;
    out.has_unknown_length = out.items > 0;
    for (const WaitingItems& it : snapshot.items) {
      if (it.waiting > 0 && serves_items(fleet, it) && could_run(fleet, it)) out.waiting.push_back(&it);
    }
    return out;
  }
  std::uint64_t milliseconds = 0;
  for (const WaitingItems& it : snapshot.items) {
    const bool counts = fleet.rules.queue.empty() ? serves_items(fleet, it) : it.queue == fleet.rules.queue;
    const std::uint64_t items = it.waiting + (injected(FleetFault::work_in_flight_ignored) ? 0 : it.in_hands);
    if (!counts || items == 0 || (it.in_hands == 0 && !could_run(fleet, it))) continue;
    out.items += items;
    if (it.waiting > 0) out.waiting.push_back(&it);
    if (it.item_ms == 0) out.has_unknown_length = true;
    milliseconds += items * static_cast<std::uint64_t>(std::max<std::int64_t>(it.item_ms, 0));
  }
  out.seconds = rounded_up(milliseconds, 1000);
  return out;
}

void plan_for_backlog(FleetDraft& fleet, const Backlog& backlog, FleetPlan& plan) {
  const FleetRules& rules = fleet.rules();
  if (rules.items_per_machine > 0) {
    const std::uint64_t target = rounded_up(backlog.items, rules.items_per_machine);
    return fleet.scale_to(
        target, concat("a backlog of ", plural(backlog.items, "item"), ", ", rules.items_per_machine, " per machine"),
        plan);
  }
  std::uint64_t target = rounded_up(backlog.seconds, std::max<std::uint64_t>(rules.seconds_per_machine, 1));
  // One machine finds out how long items take.
  if (backlog.has_unknown_length && !injected(FleetFault::unknown_length_ignored))
    target = std::max<std::uint64_t>(target, 1);
  fleet.scale_to(target,
                 concat("a backlog of ", plural(backlog.seconds, "second"),
                        backlog.has_unknown_length ? " or more, " : ", ", rules.seconds_per_machine, " per machine"),
                 plan);
}

}  // namespace drover
