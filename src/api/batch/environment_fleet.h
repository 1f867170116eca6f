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

/// vCPUs that somebody asks for once: they are kept for a while, although nothing may wait for them.
struct DesiredVcpus {
  std::uint64_t count = 0;
  std::int64_t now_ms = 0;
};

/// `environment` as AWS's client has described it. An error, in words: none of its instance types is known.
std::expected<FleetSpec, std::string> environment_fleet(const std::string& name, const boost::json::object& environment,
                                                        const ManagedMachines& machines, const DesiredVcpus& desired);

/// Its instance types that are in no table.
std::string unknown_types(const boost::json::object& environment);

}  // namespace drover::aws
