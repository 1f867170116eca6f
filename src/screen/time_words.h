// Times and rates in the words of the display. They are coarser than units.h: what changes ten times a second must not
// tremble.
#pragma once

#include <string>

#include "screen/time_left.h"

namespace drover {

/// "3–5 min left", "about 4 min left", "the last 2 are running longer than 95 % of the others".
std::string time_left_words(const TimeLeft& left);

/// "42 s", "4 min 10 s", "2 h 05 min".
std::string duration_words(double seconds);

/// "41 items/s", "7.5 items/min".
std::string rate_words(double items_per_s);

}  // namespace drover
