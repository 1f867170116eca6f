// Usage as people read it: hours of CPUs, of gibibytes and of accelerators.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "core/usage.h"

namespace drover {

/// As the API says it.
JobUsage usage_in(const boost::json::value& object);

/// "0.002", "12.5", "1,317".
std::string hours(std::int64_t ms);
std::string gib_hours(std::int64_t mib_s);
/// "12 %"; of nothing "-".
std::string percent(std::int64_t part, std::int64_t whole);

}  // namespace drover
