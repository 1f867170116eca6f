#include "screen/styled_line.h"

#include <cstdlib>

#include <algorithm>

#include "screen/cells.h"
#include "screen/plain_text.h"

namespace drover {

namespace {

std::string_view sgr(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::strong: return "\x1b[1m";
    case Style::faint: return "\x1b[2m";
    case Style::good: return "\x1b[32m";
    case Style::bad: return "\x1b[31m";
    case Style::warning: return "\x1b[33m";
  }
  return "";
}

}  // namespace

Colours wanted_colours() {
  const char* no_colour = std::getenv("NO_COLOR");
  return no_colour != nullptr && *no_colour != '\0' ? Colours::off : Colours::on;
}

void StyledLine::add(std::string_view text, Style style) {
  const std::string fitting = plain_text(text, room());
  if (fitting.empty()) return;
  const bool styled = colours_ == Colours::on && style != Style::plain;
  add_as_is(styled ? std::string(sgr(style)) + fitting + "\x1b[m" : fitting, cells_of(fitting));
}

void StyledLine::add_as_is(std::string_view text, std::size_t cells) {
  text_.append(blanks_, ' ');
  blanks_ = 0;
  text_ += text;
  cells_ += cells;
}

void StyledLine::skip_to(std::size_t cell) {
  cell = std::min(cell, most_cells_);
  if (cell <= cells_) return;
  blanks_ += cell - cells_;
  cells_ = cell;
}

}  // namespace drover
