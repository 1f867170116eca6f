// The fleet that a compute environment is.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <expected>
#include <string>

#include "core/fleets/fleet_records.h"

namespace drover::aws {

/// Where machines of managed environments come from.
struct ManagedMachines {
  std::string provider = "local";
  std::string command;                // of provider `command`
  std::uint64_t most_milli_cpus = 0;  // that the provider has for a fleet; 0: no limit
};

/// `environment` as AWS's client has described it. An error, in words: nothing it asks for is known. The vCPUs that are
/// desired are kept for a while from `now_ms` on, whatever waits.
std::expected<FleetSpec, std::string> environment_fleet(const std::string& name, const boost::json::object& environment,
                                                        const ManagedMachines& machines, std::int64_t now_ms);

/// Of its instance types, those that nothing is known of.
std::string unknown_types(const boost::json::object& environment);

}  // namespace drover::aws
