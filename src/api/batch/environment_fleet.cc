#include "api/batch/environment_fleet.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/text.h"
#include "wire/fleet_rules.h"
#include "wire/shapes/aws_types.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kOptimal = {"c5", "m5", "r5"};
// AWS keeps idle machines for several minutes, which would hold up people who try this on their own machine.
constexpr std::int64_t kIdleMs = 60'000;
constexpr std::int64_t kJoinMs = 300'000;

std::uint64_t number_in(const json::object& object, std::string_view member) {
  const json::value* it = object.if_contains(member);
  return it == nullptr || !it->is_int64() ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(it->get_int64(), 0));
}

void add_family(std::string_view family, std::vector<std::string>& to) {
  for (const MachineType& it : kAwsTypes) {
    if (it.family() == family) to.emplace_back(it.name);
  }
}

/// Types, families of them, and "optimal". Those that are in no table are added to `unknown`.
std::vector<std::string> shapes_of(const json::object& resources, std::string& unknown) {
  std::vector<std::string> out;
  const json::value* types = resources.if_contains("instanceTypes");
  if (types == nullptr) return out;
  for (const json::value& it : types->get_array()) {
    const std::string_view type = it.get_string();
    const std::size_t before = out.size();
    if (type == "optimal") {
      for (const std::string_view family : kOptimal) add_family(family, out);
    } else if (type.contains('.')) {
      if (std::ranges::find(kAwsTypes, type, &MachineType::name) != kAwsTypes.end()) out.emplace_back(type);
    } else {
      add_family(type, out);
    }
    if (out.size() == before) unknown += concat(unknown.empty() ? "" : ", ", type);
  }
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

}  // namespace

std::string unknown_types(const json::object& environment) {
  std::string unknown;
  if (const json::value* resources = environment.if_contains("computeResources")) {
    shapes_of(resources->get_object(), unknown);
  }
  return unknown;
}

std::expected<FleetSpec, std::string> environment_fleet(const std::string& name, const json::object& environment,
                                                        const ManagedMachines& machines, const DesiredVcpus& desired) {
  FleetRules rules{.provider = "none"};
  const json::value* managed = environment.if_contains("computeResources");
  if (managed == nullptr) return fleet_spec(name, rules);  // its machines join by themselves
  const json::object& resources = managed->get_object();
  rules.provider = machines.provider;
  rules.command = machines.command;
  const std::string_view type = resources.at("type").get_string();
  rules.spot = type == "SPOT" || type == "FARGATE_SPOT";
  rules.on_demand = !rules.spot;  // AWS launches nothing else in one
  if (const std::uint64_t bid = number_in(resources, "bidPercentage"); bid > 0) {
    rules.bid_percent = static_cast<std::uint32_t>(bid);
  }
  std::string unknown;
  rules.shapes = shapes_of(resources, unknown);
  if (rules.shapes.empty() && !unknown.empty()) {
    return std::unexpected(
        concat("instanceTypes: unknown: ", unknown, "; name types such as c5.large, families such as c5, or optimal"));
  }
  rules.idle_ms = kIdleMs;
  rules.join_ms = kJoinMs;
  // One that is disabled finishes what it runs.
  if (environment.at("state").get_string() == "DISABLED") {
    rules.most = 0;
    return fleet_spec(name, rules);
  }
  const std::uint64_t most = number_in(resources, "maxvCpus");
  rules.most = most;  // a machine has a vCPU at least
  rules.most_milli_cpus = 1000 * most;
  if (machines.most_milli_cpus > 0) rules.most_milli_cpus = std::min(rules.most_milli_cpus, machines.most_milli_cpus);
  rules.least_milli_cpus = std::min(1000 * number_in(resources, "minvCpus"), rules.most_milli_cpus);
  rules.start_milli_cpus = std::min(1000 * desired.count, rules.most_milli_cpus);
  rules.start_until_ms = rules.start_milli_cpus > 0 ? desired.now_ms + kIdleMs : 0;
  return fleet_spec(name, rules);
}

}  // namespace drover::aws
