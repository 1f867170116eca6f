// Measuring lines in the cells of a terminal. Styles (ESC [ … m) take none.
#pragma once

#include <cstddef>
#include <string_view>

namespace drover {

/// The cells that `line` takes on a terminal wide enough.
std::size_t cells_of(std::string_view line);

/// The rows that `line` takes once a terminal has wrapped it at `columns`; at least one.
std::size_t rows_when_wrapped(std::string_view line, std::size_t columns);

}  // namespace drover
