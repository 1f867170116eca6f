// How many cells of a terminal a character takes. A table of our own: the C library's answer depends on the locale.
#pragma once

#include <cstddef>

namespace drover {

/// 0 for marks that join the character before them, 2 for East Asian wide ones and emoji, else 1.
std::size_t char_width(char32_t point);

}  // namespace drover
