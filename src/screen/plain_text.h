// Text from outside (items, what programs printed) made fit for one line of a terminal.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace drover {

/// `bytes` as valid UTF-8 without anything a terminal would act on: escape sequences and invisible formatting are
/// dropped, tabs and line ends become spaces, other control characters and bytes that are no UTF-8 become U+FFFD.
/// Blanks at both ends go. At most `most_cells` wide: a longer text is cut and ends with '…'.
std::string plain_text(std::string_view bytes, std::size_t most_cells = std::numeric_limits<std::size_t>::max());

/// What a terminal would show last of a line that was overwritten with carriage returns, as progress bars do.
std::string_view after_last_return(std::string_view line);

}  // namespace drover
