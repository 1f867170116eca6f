// Names of machines: that of the fleet, and twelve hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover {

/// A name that no other machine ever had, as long as `number` is random.
std::string machine_name(const std::string& fleet, std::uint64_t number);

/// Whether machine_name() may have made it for this fleet.
bool is_machine_name(std::string_view fleet, std::string_view name);

}  // namespace drover
