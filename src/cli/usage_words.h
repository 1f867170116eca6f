// Usage as people read it: hours of CPUs, of gibibytes and of accelerators.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "core/usage.h"

namespace drover {

/// As the API says it.
JobUsage usage_in(const boost::json::value& object);

/// What an attempt made of its GPUs, behind what else is said of it: ", GPU busy for 12.3 s, ...". Empty: nothing.
std::string gpu_words(std::int64_t busy_us, std::int64_t peak_memory_kib, std::int64_t energy_mj);

/// "$1.20 ($3.40 on demand, $0.10 for failed and lost attempts)"; empty: nothing of it has a price.
std::string cost_words(const JobUsage& used);

/// "0.002", "12.5", "1,317".
std::string hours(std::int64_t ms);
std::string gib_hours(std::int64_t mib_s);
/// "12 %"; of nothing "-".
std::string percent(std::int64_t part, std::int64_t whole);

}  // namespace drover
