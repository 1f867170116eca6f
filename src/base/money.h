// Amounts of money as people write them, and back. All are whole micro-dollars.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// "0.085", "12": dollars.
Result<std::int64_t> parse_dollars(std::string_view text);

/// "$1,234.56"; less than a dollar with more digits: "$0.0417", "$0.000012".
std::string format_dollars(std::int64_t microdollars);

}  // namespace drover
