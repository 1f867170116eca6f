#include "screen/cells.h"

#include <algorithm>

#include "base/utf8.h"
#include "screen/char_width.h"

namespace drover {
namespace {

template <class Take>
void for_each_width(std::string_view line, Take take) {
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = std::min(line.find('m', at), line.size() - 1) + 1;
      continue;
    }
    const Utf8Char character = utf8_char(line, at);
    take(char_width(character.point));
    at += character.length;
  }
}

}  // namespace

std::size_t cells_of(std::string_view line) {
  std::size_t cells = 0;
  for_each_width(line, [&](std::size_t width) { cells += width; });
  return cells;
}

std::size_t rows_when_wrapped(std::string_view line, std::size_t columns) {
  std::size_t rows = 1;
  std::size_t column = 0;
  for_each_width(line, [&](std::size_t width) {
    if (column + width > columns) {  // a wide character never straddles two rows
      ++rows;
      column = 0;
    }
    column += width;
  });
  return rows;
}

}  // namespace drover
