#include "screen/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "screen/bar.h"
#include "screen/cells.h"
#include "screen/facts.h"
#include "screen/item_lists.h"
#include "screen/plain_text.h"
#include "screen/time_words.h"

namespace drover {
namespace {

constexpr std::size_t kNarrow = 40;          // columns; below, one line must do
constexpr std::size_t kFewestLines = 3;      // a block lower than this is no better than one line
constexpr std::size_t kWidestBarLine = 120;  // on a wide terminal a bar from edge to edge is only restless

std::uint64_t done(const RunView& view) {
  return view.succeeded + view.failed + view.cancelled;
}

// Rounded down: 100 % is for a run that is done.
std::string percent(const RunView& view) {
  if (view.total == 0) return "0 %";
  const double share = std::min(1.0, static_cast<double>(done(view)) / static_cast<double>(view.total));
  if (done(view) >= view.total) return "100 %";
  if (view.total < 1000) return fmt::format("{:.0f} %", std::floor(share * 100));
  return fmt::format("{:.1f} %", std::floor(share * 1000) / 10);
}

std::string bar_line(const RunView& view, std::size_t most_cells, Colours colours) {
  const std::size_t cells = std::min(most_cells, kWidestBarLine);
  const std::string name = plain_text(view.name, cells / 4);
  constexpr std::size_t kPercentCells = 7;
  StyledLine line(cells, colours);
  if (!name.empty()) {
    line.add(name, Style::strong);
    line.skip_to(line.cells() + 2);
  }
  const std::size_t bar_cells = line.room() - kPercentCells - 2;
  line.add("▕", Style::faint);
  line.add_as_is(draw_bar({view.failed, view.succeeded, view.cancelled, view.total}, bar_cells, colours), bar_cells);
  line.add("▏", Style::faint);
  const std::string share = percent(view);
  line.skip_to(cells - cells_of(share));
  line.add(share, Style::strong);
  return line.take();
}

std::string summary_line(const RunView& view, std::size_t most_cells, Colours colours) {
  StyledLine line(most_cells, colours);
  line.add(percent(view), Style::strong);
  const auto add_if_it_fits = [&](const std::string& text, Style style) {
    if (cells_of(text) + 2 > line.room()) return;
    line.skip_to(line.cells() + 2);
    line.add(text, style);
  };
  if (view.failed > 0) add_if_it_fits(format_count(view.failed) + " failed", Style::bad);
  add_if_it_fits(fmt::format("{} of {}", format_count(done(view)), format_count(view.total)), Style::plain);
  if (!view.state_note.empty()) {
    add_if_it_fits(plain_text(view.state_note, most_cells), Style::warning);
  } else if (view.left) {
    add_if_it_fits(time_left_words(*view.left), Style::plain);
  }
  return line.take();
}

std::vector<std::string> notes(const RunView& view, std::size_t most_cells, Colours colours) {
  std::vector<std::string> texts;
  if (!view.state_note.empty()) texts.push_back(view.state_note);
  if (view.left && std::holds_alternative<RunningLong>(*view.left)) texts.push_back(time_left_words(*view.left));
  for (std::string& text : texts) {
    StyledLine line(most_cells, colours);
    line.skip_to(2);
    line.add(text, Style::warning);
    text = line.take();
  }
  return texts;
}

std::vector<std::string> lay_out_in(const RunView& view, ScreenSize size, std::size_t most_lines, Colours colours) {
  const std::size_t most_cells = std::max<std::size_t>(size.columns, 2) - 1;
  if (size.columns < kNarrow || most_lines < kFewestLines) return {summary_line(view, most_cells, colours)};

  std::vector<std::string> lines = {bar_line(view, most_cells, colours)};
  const auto append = [&](std::vector<std::string> more) {
    for (std::string& line : more) {
      if (lines.size() < most_lines) lines.push_back(std::move(line));
    }
  };
  append(notes(view, most_cells, colours));
  append(fact_lines(view, most_cells, colours));
  append(item_lines(view, {most_cells, most_lines - lines.size()}, colours));
  return lines;
}

}  // namespace

std::vector<std::string> lay_out(const RunView& view, ScreenSize size, Colours colours) {
  return lay_out_in(view, size, size.rows * 5 / 12, colours);
}

std::vector<std::string> lay_out_whole(const RunView& view, ScreenSize size, Colours colours) {
  return lay_out_in(view, size, size.rows, colours);
}

}  // namespace drover
