// One line of the display, put together piece by piece and never wider than it may be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

enum class Colours { off, on };

/// By $NO_COLOR.
Colours wanted_colours();

enum class Style { plain, strong, faint, good, bad, warning };

class StyledLine {
 public:
  StyledLine(std::size_t most_cells, Colours colours) : most_cells_(most_cells), colours_(colours) {}

  /// Adds `text`, which has no styles and no control characters; what does not fit is cut and ends with '…'.
  void add(std::string_view text, Style style = Style::plain);
  /// Adds `text` that has its styles already and takes `cells`, which fit.
  void add_as_is(std::string_view text, std::size_t cells);
  /// Leaves blanks up to `cell`, if the line is not there yet. Blanks at the line's end are never written.
  void skip_to(std::size_t cell);

  std::size_t cells() const { return cells_; }
  std::size_t room() const { return most_cells_ - cells_; }
  std::string take() { return std::move(text_); }

 private:
  std::size_t most_cells_;
  Colours colours_;
  std::string text_;
  std::size_t cells_ = 0;
  std::size_t blanks_ = 0;  // counted in cells_, not yet in text_
};

}  // namespace drover
