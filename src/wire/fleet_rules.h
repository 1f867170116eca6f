// How a fleet scales, as JSON: what an administrator sets, the ledger keeps, and the planner is given.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/fleets/fleet_records.h"
#include "core/planner/snapshot.h"

namespace drover {

/// Everything, also what is usual.
boost::json::object fleet_rules_to_json(const FleetRules& rules);
/// What the text does not say is usual.
Result<FleetRules> fleet_rules_from_json(std::string_view text);
/// The same for what a client sends: it may not have a field twice, nor set labels that every machine has. The ledger
/// may have rules with such labels, of earlier versions, and those stay readable.
Result<FleetRules> fleet_rules_from_request(std::string_view body);

/// How providers are told apart: those that run a program have its name.
std::string kind_name(const FleetRules& rules);

/// What the core keeps of a fleet with these rules.
FleetSpec fleet_spec(const std::string& name, const FleetRules& rules);

}  // namespace drover
