#include "fleets/plan_commands.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "fleets/machine_name.h"

namespace drover {

std::vector<ScaleFleet> scale_commands(const FleetPlan& plan, const std::function<std::uint64_t()>& number) {
  std::map<std::string, ScaleFleet> commands;
  for (const PlannedDrain& it : plan.drains) commands[it.fleet].drains.push_back({it.machine, it.reason});
  for (const PlannedLaunch& it : plan.launches) {
    commands[it.fleet].launches.push_back(
        {machine_name(it.fleet, number()), it.shape.name, it.shape.has, it.reason, it.shape.price, it.spot});
  }
  for (const PlannedScale& it : plan.scales) commands[it.fleet].scale_to = it.machines;
  std::vector<ScaleFleet> out;
  for (auto& [fleet, command] : commands) {
    command.fleet = fleet;
    out.push_back(std::move(command));
  }
  return out;
}

std::vector<std::string> explained(const FleetPlan& plan, const FleetState& fleet) {
  std::vector<std::string> out;
  std::map<std::tuple<std::string, bool, std::string>, std::uint64_t> launches;
  for (const PlannedLaunch& it : plan.launches) {
    if (it.fleet == fleet.name) ++launches[{it.shape.name, it.spot, it.reason}];
  }
  for (const auto& [what, count] : launches) {
    const auto& [shape, is_spot, reason] = what;
    out.push_back(
        concat("launch ", plural(count, is_spot ? "spot machine" : "machine"), " of shape '", shape, "': ", reason));
  }
  for (const PlannedDrain& it : plan.drains) {
    if (it.fleet == fleet.name) out.push_back(concat("drain ", it.machine, ": ", it.reason));
  }
  for (const PlanNote& it : plan.notes) {
    if (it.fleet == fleet.name) out.push_back(it.text);
  }
  if (out.empty()) out.push_back(fleet.unavailable.empty() ? "nothing to do" : fleet.unavailable);
  return out;
}

}  // namespace drover
