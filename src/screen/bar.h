// The bar that fills as a run goes on, drawn in eighths of a cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "screen/styled_line.h"

namespace drover {

struct BarParts {
  std::uint64_t failed = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t total = 0;
};

/// Exactly `cells` cells: failed in red, succeeded in green, cancelled in grey, then blank. A part that is not empty
/// shows at least a sliver. Without colours, failed cells are ▒ and cancelled ones ░.
std::string draw_bar(const BarParts& parts, std::size_t cells, Colours colours);

}  // namespace drover
