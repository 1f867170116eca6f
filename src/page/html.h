// Putting text from anywhere into HTML, where it stays text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace drover::page {

/// `bytes` as HTML that shows them: one line of readable text, at most `most_cells` wide, nothing in it a tag.
std::string html_text(std::string_view bytes, std::size_t most_cells);

/// JSON that can stand inside a script element, whatever its strings contain.
std::string inside_script(std::string_view json);

/// `skeleton` with every {{mark}} replaced. What is put in is not looked at again.
std::string fill(std::string_view skeleton, std::initializer_list<std::pair<std::string_view, std::string_view>> marks);

/// "2025-03-01 14:05:09 CET", where this program runs.
std::string local_time(std::int64_t epoch_ms);

/// Minutes that local time is ahead of UTC at that moment.
std::int64_t utc_offset_minutes(std::int64_t epoch_ms);

}  // namespace drover::page
