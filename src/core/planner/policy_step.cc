// Step scaling, as EC2 Auto Scaling has it.
//
// Steps are intervals of the distance from the alarm's threshold. Above it the lower bound is inclusive and the upper
// exclusive, below it the reverse. Machines that are warming up count as capacity, but not as what a change starts
// from: a second breach of the same step changes nothing, and one of a higher step adds the difference. Nothing is
// drained while machines warm up. The number that the last change was for is kept while no alarm is in force: machines
// that are lost are replaced.
#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "core/fleets/fleet_faults.h"
#include "core/planner/policies.h"

namespace drover {
namespace {

bool is_in_force(const StepAlarm& alarm, std::int64_t metric) {
  switch (alarm.comparison) {
    case Comparison::at_least: return metric >= alarm.threshold;
    case Comparison::above: return metric > alarm.threshold;
    case Comparison::at_most: return metric <= alarm.threshold;
    case Comparison::below: return metric < alarm.threshold;
  }
  return false;
}

/// Of `value` percent of so many machines, in whole machines.
std::int64_t part_of(std::int64_t machines, std::int64_t value) {
  const std::int64_t hundredths = machines * value;
  if (hundredths == 0) return 0;
  if (std::abs(hundredths) < 100) return hundredths > 0 ? 1 : -1;
  return hundredths / 100;  // towards zero
}

}  // namespace

std::optional<std::int64_t> step_value(const StepAlarm& alarm, std::int64_t metric) {
  if (!is_in_force(alarm, metric)) return std::nullopt;
  const std::int64_t distance = metric - alarm.threshold;
  const bool is_above = alarm.comparison == Comparison::at_least || alarm.comparison == Comparison::above;
  for (const ScalingStep& step : alarm.steps) {
    const bool over_lower =
        !step.lower ||
        (is_above && !injected(FleetFault::step_bound_exclusive) ? distance >= *step.lower : distance > *step.lower);
    const bool under_upper = !step.upper || (is_above ? distance < *step.upper : distance <= *step.upper);
    if (over_lower && under_upper) return step.value;
  }
  return std::nullopt;
}

std::int64_t adjusted(const StepAlarm& alarm, std::int64_t value, std::int64_t machines) {
  if (alarm.adjustment == Adjustment::exact) return value;
  if (alarm.adjustment == Adjustment::change) return machines + value;
  std::int64_t change = part_of(machines, value);
  if (value != 0 && std::abs(change) < alarm.min_magnitude)
    change = value > 0 ? alarm.min_magnitude : -alarm.min_magnitude;
  return machines + change;
}

// Where several alarms are in force, the one that gives the most machines decides.
void plan_steps(FleetDraft& fleet, const Backlog& backlog, FleetPlan& plan) {
  constexpr std::int64_t kMostCounted = 1'000'000'000'000;
  const auto metric = static_cast<std::int64_t>(std::min<std::uint64_t>(backlog.items, kMostCounted));
  const std::uint64_t scaled_to = fleet.state().scaled_to.value_or(fleet.machines());
  const auto capacity = static_cast<std::int64_t>(std::min<std::uint64_t>(scaled_to, kMostCounted));
  std::optional<std::int64_t> target;
  bool is_any_in_force = false;
  const bool is_due = fleet.scaled_ms() + fleet.rules().period_ms <= fleet.now_ms();
  for (const StepAlarm& alarm : fleet.rules().alarms) {
    const auto value = step_value(alarm, metric);
    is_any_in_force = is_any_in_force || is_in_force(alarm, metric);
    if (!value) continue;
    std::int64_t wanted = 0;
    if (alarm.adjustment == Adjustment::exact) {
      wanted = *value;
    } else {
      // What the last change started from: machines of it that are warm meanwhile would be added to once more.
      const std::uint64_t base = is_due ? fleet.in_service() : fleet.in_service_at(fleet.scaled_ms());
      wanted = adjusted(alarm, *value, static_cast<std::int64_t>(base));
      if (*value > 0) wanted = std::max(wanted, capacity);
      // Once for each period, while the alarm lasts; a higher step while machines warm up counts at once.
      if (!is_due && !(*value > 0 && fleet.is_warming())) wanted = capacity;
    }
    target = std::max(target.value_or(wanted), wanted);
  }
  const std::string seen = concat("the metric is ", metric);
  if (!target) {
    plan.notes.push_back(
        {fleet.state().name, concat(seen, is_any_in_force ? ": no step covers that value" : ": no alarm is active")});
    return fleet.scale_to(scaled_to, concat(seen, ": it stays at ", plural(scaled_to, "machine")), plan);
  }
  const FleetRules& rules = fleet.rules();
  const std::uint64_t wanted = std::clamp(static_cast<std::uint64_t>(std::max<std::int64_t>(*target, 0)),
                                          std::min(rules.least, rules.most), rules.most);
  if (wanted < fleet.machines() && fleet.is_warming() && !injected(FleetFault::drained_while_warming)) {
    plan.notes.push_back({fleet.state().name, concat(seen, ": scale-in waits until all machines are warm")});
    return;
  }
  if (fleet.state().scaled_to != wanted) plan.scales.push_back({fleet.state().name, wanted});
  fleet.scale_to(wanted, concat(seen, ": ", plural(wanted, "machine")), plan);
}

}  // namespace drover
