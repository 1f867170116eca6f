// The display's lists: the last failures, and the items that have run longest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "screen/run_view.h"
#include "screen/styled_line.h"

namespace drover {

struct ListRoom {
  std::size_t cells = 0;
  std::size_t lines = 0;
};

/// At most `room.lines` lines, shared between both lists as they need them.
std::vector<std::string> item_lines(const RunView& view, ListRoom room, Colours colours);

}  // namespace drover
