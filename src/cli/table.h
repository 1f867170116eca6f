// Rows below headings, each column as wide as what stands in it. On a terminal that is too narrow for all of them, the
// columns that matter least are left out, and the one that is to be cut is; elsewhere everything is shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace drover {

struct Column {
  enum class Align : unsigned char { left, right };

  std::string title;
  Align align = Align::left;
  int spare = 0;     // 0: always there; else the higher goes first
  bool cut = false;  // its texts are cut if they must be
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns; an empty one is shown as "-", but at the end of the row.
  void add(std::vector<std::string> cells);
  /// In so many columns of a terminal; 0: in as many as it takes.
  std::string text(std::size_t width) const;
  /// To standard output, as wide as the terminal there.
  void print() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The columns of the terminal that standard output is; 0: it is none.
std::size_t terminal_width();

}  // namespace drover
