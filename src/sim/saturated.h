// A queue that shares fairly, and more work in each share than all machines can do: who gets how much of them?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sim/script.h"

namespace drover::sim {

Script make_saturated(std::uint64_t seed, std::int64_t hours);

/// What is wrong with what each share has had of all machines, beside its due: the less the more its usage counts.
/// `cpu_ms` is what the job of each share has had.
std::optional<std::string> unfair_share(const Script& script, const std::map<std::uint64_t, std::int64_t>& cpu_ms);

}  // namespace drover::sim
