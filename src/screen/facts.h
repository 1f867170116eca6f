// The display's numbers: counts, times, and what the machine gives, in three lines with common columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "screen/run_view.h"
#include "screen/styled_line.h"

namespace drover {

/// Three lines of at most `most_cells`, two where the machine is not known; a fact that does not fit is left out whole.
std::vector<std::string> fact_lines(const RunView& view, std::size_t most_cells, Colours colours);

}  // namespace drover
