#include "screen/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "screen/cells.h"
#include "screen/time_words.h"

namespace drover {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kNarrow = 72;   // cells
constexpr double kMemoryTight = 0.9;  // of the machine's

/// A number and what it counts: "17 failed".
struct Fact {
  std::string number;
  std::string word;
  Style style = Style::plain;

  std::size_t cells() const { return cells_of(number) + (word.empty() ? 0 : 1) + cells_of(word); }
};

using FactRow = std::vector<Fact>;

FactRow count_row(const RunView& view) {
  const auto count = [](std::uint64_t number, const char* word, Style style = Style::plain) {
    return Fact{format_count(number), word, number == 0 ? Style::faint : style};
  };
  FactRow row = {{format_count(view.succeeded + view.failed + view.cancelled),
                  fmt::format("of {} done", format_count(view.total))},
                 count(view.failed, "failed", Style::bad),
                 count(view.running, "running")};
  if (view.waiting > 0) row.push_back(count(view.waiting, "to retry", Style::warning));
  if (view.cancelled > 0) row.push_back(count(view.cancelled, "cancelled", Style::warning));
  return row;
}

Fact time_left_fact(const RunView& view) {
  if (view.running + view.pending + view.waiting == 0) return {};
  if (!view.left) return {"", "time left not known yet"};
  if (std::holds_alternative<RunningLong>(*view.left)) return {"", "time left not known"};
  return {time_left_words(*view.left), "", Style::strong};
}

FactRow time_row(const RunView& view) {
  const std::string rate = rate_words(view.rate);
  const std::size_t space = rate.find(' ');
  return {time_left_fact(view),
          {rate.substr(0, space), rate.substr(space + 1)},
          {duration_words(view.elapsed_s), "elapsed"}};
}

Fact memory_fact(const RunView& view) {
  std::string used = format_size(view.memory_bytes);
  if (view.machine_memory_bytes == 0) return {used, "memory"};
  const std::string machine = format_size(view.machine_memory_bytes);
  const std::string unit = machine.substr(machine.find(' '));
  if (used.ends_with(unit)) used.resize(used.size() - unit.size());
  const bool tight =
      static_cast<double>(view.memory_bytes) > kMemoryTight * static_cast<double>(view.machine_memory_bytes);
  return {used, fmt::format("of {} memory", machine), tight ? Style::warning : Style::plain};
}

FactRow machine_row(const RunView& view) {
  return {{fmt::format("{:.1f}", view.cpu_cores), "cores busy"},
          {format_count(view.slots), view.slots == 1 ? "slot" : "slots"},
          memory_fact(view)};
}

// Where the second and third columns begin. The widths that most values need are kept free from the start, so that
// nothing moves when a number gains a digit.
std::array<std::size_t, 3> column_starts(const RunView& view, const std::vector<FactRow>& rows, std::size_t gap) {
  const std::size_t total = format_count(view.total).size();
  std::array<std::size_t, 2> widths = {std::max<std::size_t>(2 * total + 9, 20), 14};
  for (const FactRow& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].cells());
  }
  return {kIndent, kIndent + widths[0] + gap, kIndent + widths[0] + gap + widths[1] + gap};
}

}  // namespace

std::vector<std::string> fact_lines(const RunView& view, std::size_t most_cells, Colours colours) {
  std::vector<FactRow> rows = {count_row(view), time_row(view)};
  if (view.slots > 0) rows.push_back(machine_row(view));
  const std::size_t gap = most_cells < kNarrow ? 2 : 3;
  const auto starts = column_starts(view, rows, gap);
  std::vector<std::string> lines;
  for (const FactRow& row : rows) {
    StyledLine line(most_cells, colours);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Fact& fact = row[i];
      const std::size_t start = i < starts.size() ? starts[i] : line.cells() + gap;
      if (start + fact.cells() > most_cells) break;
      line.skip_to(start);
      line.add(fact.number, fact.style);
      if (!fact.number.empty()) line.skip_to(line.cells() + 1);
      line.add(fact.word, Style::faint);
    }
    lines.push_back(line.take());
  }
  return lines;
}

}  // namespace drover
