// The lines of the live display: what is shown of a run, and where. Pure: the same view and size give the same lines.
#pragma once

#include <string>
#include <vector>

#include "screen/run_view.h"
#include "screen/screen_size.h"
#include "screen/styled_line.h"

namespace drover {

/// At least one line; none wider than columns - 1, and never more than half of the rows. A small terminal gets a
/// summary of one line.
std::vector<std::string> lay_out(const RunView& view, ScreenSize size, Colours colours);

/// The same for a terminal that is used for nothing else: as many lines as there are rows.
std::vector<std::string> lay_out_whole(const RunView& view, ScreenSize size, Colours colours);

}  // namespace drover
