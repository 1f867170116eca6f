// What lines of error output have in common when they say the same of different items.
#pragma once

#include <string>
#include <string_view>

namespace drover {

/// `line` without what differs from item to item: numbers become N, hexadecimal words and UUIDs H, paths PATH, quoted
/// sentences '…'. A quoted word stays, shaped like the rest: it is often the very thing ("no module named 'torch'").
/// Blanks are collapsed; at most 160 cells.
std::string shape_of(std::string_view line);

}  // namespace drover
