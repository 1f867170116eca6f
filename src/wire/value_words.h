// A value of a job in the words of a problem with it, and what whoever wrote it may have meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "wire/document.h"

namespace drover {

/// More of a text is not shown.
inline constexpr std::size_t kMostShown = 60;

/// In quotes, its beginning if it is long, without what a terminal would take for an order.
std::string quoted(std::string_view text);
/// "the text \"3\"", "a list".
std::string shown(const Node& node);

bool is_whole(std::string_view text, std::int64_t& out);
bool is_real(std::string_view text, double& out);
bool matches(std::string_view text, std::string_view pattern);
/// "10 min" in two: the number and the unit, which is in small letters.
std::pair<std::string, std::string> number_and_unit(std::string_view text);

// What to write instead; empty: nobody can tell.
std::string meant_time(std::string_view text);
std::string meant_size(std::string_view text);
/// What {} or {/} is in YAML when it is not in quotes: an object, with one field or none.
std::string placeholder(const Node& node);
/// What a name could be that has signs in it which no name has.
std::string with_dashes(std::string_view text);

/// "after[2]"
std::string element(std::string_view path, std::size_t index);
/// "accelerators.nvidia"
std::string member(std::string_view path, std::string_view name);

}  // namespace drover
