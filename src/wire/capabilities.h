// The rights that the kernel splits root's power into, by name and by number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/container.h"
#include "base/result.h"

namespace drover {

/// A bit for each right.
using CapabilityMask = std::uint64_t;

/// "SYS_PTRACE", with or without "CAP_", in any case; "ALL" is every one.
std::optional<CapabilityMask> capability_named(std::string_view name);

/// What the container's processes may do: the usual few, less what is dropped, and what is added; all of them if it is
/// privileged. A name that is none is an error.
Result<CapabilityMask> capabilities_of(const ContainerOptions& options);

/// "CAP_CHOWN", in the order of their numbers.
std::vector<std::string> capability_names(CapabilityMask mask);

}  // namespace drover
