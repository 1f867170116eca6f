#include "screen/item_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "screen/cells.h"
#include "screen/plain_text.h"
#include "screen/time_words.h"

namespace drover {
namespace {

constexpr std::size_t kListIndent = 2;
constexpr std::size_t kLabelEnd = 11;  // "  running  "
constexpr std::size_t kListGap = 2;
constexpr std::size_t kWidestHow = 28;
constexpr std::size_t kWideCells = 100;  // cells; below, what a failure printed needs the room of its lesser columns
constexpr std::size_t kAiryLines = 10;   // with so many, an empty one before each list costs nothing
// Names that come and go many times a second cannot be read.
constexpr double kWorthListing_s = 1;

enum class Align { left, right };

/// One line of a list. The middle is in columns; the text takes what is left.
struct ListRow {
  std::string item;
  std::string what;  // how it failed, or how long it runs
  std::string note;
  std::string text;

  bool ends_after_what() const { return note.empty() && text.empty(); }
};

// Without separators: this is what a person types after the run's name.
std::string item_name(std::uint64_t item) {
  return fmt::format("#{}", item);
}

std::string attempt_words(std::uint32_t attempt) {
  return attempt > 1 ? fmt::format("try {}", attempt) : std::string();
}

std::vector<ListRow> failure_rows(const RunView& view, std::size_t count, std::size_t cells) {
  std::vector<ListRow> rows;
  for (const RunView::Failure& failure : view.last_failures) {
    if (rows.size() == count) break;
    std::string note = cells < kWideCells ? std::string() : attempt_words(failure.attempt);
    if (failure.will_retry) note += note.empty() ? "will retry" : ", will retry";
    std::string text = plain_text(after_last_return(failure.last_line), cells);
    ListRow row = {item_name(failure.item), "", std::move(note), std::move(text)};
    row.what = plain_text(failure.how, row.ends_after_what() ? cells : std::min(kWidestHow, cells / 5));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ListRow> running_rows(const RunView& view, std::size_t count, std::size_t cells) {
  std::vector<ListRow> rows;
  for (const RunView::RunningItem& running : view.longest) {
    if (rows.size() == count) break;
    if (running.seconds < kWorthListing_s) continue;
    rows.push_back({item_name(running.item), duration_words(running.seconds), attempt_words(running.attempt),
                    plain_text(running.text, cells)});
  }
  return rows;
}

struct ListLook {
  std::string_view label;
  Style label_style;
  Align what_align;
};

std::size_t widest(const std::vector<ListRow>& rows, std::string ListRow::* column) {
  std::size_t width = 0;
  for (const ListRow& row : rows) width = std::max(width, cells_of(row.*column));
  return width;
}

struct ListPlace {
  std::size_t what_start = 0;  // the same for both lists
  std::size_t cells = 0;
};

void append_list(std::vector<std::string>& lines, const std::vector<ListRow>& rows, const ListLook& look,
                 const ListPlace& place, Colours colours) {
  std::size_t what_width = 0;
  for (const ListRow& row : rows) {
    // Where nothing follows, it may stand out of its column.
    if (look.what_align == Align::left && row.ends_after_what()) continue;
    what_width = std::max(what_width, cells_of(row.what));
  }
  const std::size_t note_start = place.what_start + what_width + kListGap;
  const std::size_t note_width = widest(rows, &ListRow::note);
  const std::size_t text_start = note_width == 0 ? note_start : note_start + note_width + kListGap;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ListRow& row = rows[i];
    StyledLine line(place.cells, colours);
    line.skip_to(kListIndent);
    if (i == 0) line.add(look.label, look.label_style);
    line.skip_to(kLabelEnd);
    line.add(row.item, Style::faint);
    const std::size_t blanks = look.what_align == Align::right ? what_width - cells_of(row.what) : 0;
    line.skip_to(place.what_start + blanks);
    line.add(row.what);
    line.skip_to(note_start);
    line.add(row.note, Style::faint);
    line.skip_to(text_start);
    line.add(row.text);
    lines.push_back(line.take());
  }
}

}  // namespace

std::vector<std::string> item_lines(const RunView& view, ListRoom room, Colours colours) {
  const bool airy = room.lines >= kAiryLines;
  const std::size_t rows = room.lines - (airy ? 2 : 0);
  const std::size_t failures = std::min(view.last_failures.size(), rows / 2);
  const std::vector<ListRow> running = running_rows(view, rows - failures, room.cells);
  const std::vector<ListRow> failed = failure_rows(view, rows - running.size(), room.cells);
  const std::size_t item_width = std::max(widest(failed, &ListRow::item), widest(running, &ListRow::item));
  const ListPlace place = {kLabelEnd + item_width + kListGap, room.cells};
  std::vector<std::string> lines;
  // Failures first: they stay, while the list below grows and shrinks.
  if (airy && !failed.empty()) lines.emplace_back();
  append_list(lines, failed, {"failed", Style::bad, Align::left}, place, colours);
  if (airy && !running.empty()) lines.emplace_back();
  append_list(lines, running, {"running", Style::good, Align::right}, place, colours);
  return lines;
}

}  // namespace drover
