#include "cli/table.h"

#include <unistd.h>

#include <algorithm>

#include "cli/print.h"
#include "screen/cells.h"
#include "screen/live_block.h"
#include "screen/plain_text.h"

namespace drover {
namespace {

constexpr std::size_t kBetween = 2;
constexpr std::size_t kLeastCut = 10;

std::string padded(const std::string& text, std::size_t width, Column::Align align) {
  const std::string blanks(width - std::min(width, cells_of(text)), ' ');
  return align == Column::Align::right ? blanks + text : text + blanks;
}

}  // namespace

std::size_t terminal_width() {
  return isatty(STDOUT_FILENO) == 1 ? LiveBlock(STDOUT_FILENO).size().columns : 0;
}

void Table::add(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = plain_text(cells[i]);
    if (cells[i].empty() && i + 1 < cells.size()) cells[i] = "-";
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = cells_of(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, cells_of(row[i]));
    widths.push_back(widest);
  }
  std::vector<bool> shown(columns_.size(), true);
  // A column that can be cut needs no more than its least.
  const auto needed = [&](bool cut) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i]) continue;
      sum += kBetween + (cut && columns_[i].cut ? std::min(widths[i], kLeastCut) : widths[i]);
    }
    return sum - std::min(sum, kBetween);
  };
  while (width > 0 && needed(true) >= width) {
    std::size_t least = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool goes = shown[i] && columns_[i].spare > 0;
      if (goes && (least == columns_.size() || columns_[i].spare > columns_[least].spare)) least = i;
    }
    if (least == columns_.size()) break;
    shown[least] = false;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (width == 0 || !shown[i] || !columns_[i].cut || needed(false) < width) continue;
    const std::size_t over = needed(false) - width + 1;
    widths[i] = std::max(std::min(widths[i], kLeastCut), widths[i] - std::min(widths[i], over));
  }
  std::string out;
  const auto line = [&](auto&& cell) {
    std::string row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i]) continue;
      if (!row.empty()) row.append(kBetween, ' ');
      row += padded(plain_text(cell(i), widths[i]), widths[i], columns_[i].align);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    line([&](std::size_t i) -> const std::string& { return row[i]; });
  }
  return out;
}

void Table::print() const {
  print_text(stdout, text(terminal_width()));
}

}  // namespace drover
