// A terminal for tests: a pseudo-terminal with a small emulator at its other end.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "screen/char_width.h"
#include "screen/live_block.h"

namespace drover {

/// Text, cursor and scrollback of a terminal that understands what LiveBlock sends, and fails the test on anything
/// else.
class FakeTerminal {
 public:
  explicit FakeTerminal(ScreenSize size) : size_(size) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) bytes.remove_prefix(take_one(bytes));
  }

  /// Lines as they were written: rows that were wrapped are whole again, empty ones are left out.
  std::vector<std::string> text() const {
    std::vector<std::string> lines;
    std::string line;
    for (const Row& row : rows_) {
      for (const std::string& cell : row.cells) line += cell == "" ? " " : cell == kSecondHalf ? "" : cell;
      if (row.wrapped) continue;
      line.resize(line.find_last_not_of(' ') + 1);
      if (!line.empty()) lines.push_back(line);
      line.clear();
    }
    return lines;
  }

  void resize(ScreenSize size, Narrowing narrowing) {
    rows_.resize(row_ + 1);  // what is below the cursor was never written
    if (narrowing == Narrowing::wraps) {
      wrap_again(size.columns);
    } else {
      for (Row& row : rows_) row.cells.resize(std::min(row.cells.size(), size.columns));
    }
    size_ = size;
    top_ = rows_.size() - std::min(rows_.size(), size.rows);
    column_ = std::min(column_, size.columns - 1);
  }

  ScreenSize size() const { return size_; }
  std::size_t cursor_row() const { return row_ - top_; }
  std::size_t cursor_column() const { return column_; }
  bool at_rest() const { return cursor_shown_ && wraps_ && !synchronized_; }
  std::size_t frames() const { return frames_; }

 private:
  static constexpr std::string_view kSecondHalf = "second half";

  struct Row {
    std::vector<std::string> cells;
    bool wrapped = false;  // goes on in the next row
  };

  std::size_t take_one(std::string_view bytes) {
    if (bytes.front() == '\x1b') return take_escape(bytes);
    if (bytes.front() == '\r') {
      column_ = 0;
      return 1;
    }
    if (bytes.front() == '\n') {
      line_feed();
      return 1;
    }
    const Utf8Char character = utf8_char(bytes, 0);
    EXPECT_TRUE(character.valid && character.point >= ' ') << "a stray byte " << int(bytes.front());
    put(bytes.substr(0, character.length), char_width(character.point));
    return character.length;
  }

  std::size_t take_escape(std::string_view bytes) {
    const std::size_t end = bytes.find_first_of("ABKhlm", 2);
    if (bytes.size() < 3 || bytes[1] != '[' || end == std::string_view::npos) {
      ADD_FAILURE() << "not a known sequence: " << bytes.substr(1, 10);
      return 1;
    }
    const std::string parameter(bytes.substr(2, end - 2));
    switch (bytes[end]) {
      case 'A': row_ = std::max(top_, row_ - std::min(row_, count(parameter))); break;
      case 'B': row_ = std::min(top_ + size_.rows - 1, row_ + count(parameter)); break;
      case 'K': clear_to_line_end(); break;
      case 'h': set_mode(parameter, true); break;
      case 'l': set_mode(parameter, false); break;
      default: break;  // styles
    }
    return end + 1;
  }

  static std::size_t count(const std::string& parameter) { return parameter.empty() ? 1 : std::stoul(parameter); }

  void set_mode(const std::string& mode, bool on) {
    if (mode == "?7") {
      wraps_ = on;
    } else if (mode == "?25") {
      cursor_shown_ = on;
    } else if (mode == "?2026") {
      synchronized_ = on;
      if (on) ++frames_;
    } else {
      ADD_FAILURE() << "not a known mode: " << mode;
    }
  }

  Row& row() {
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
    return rows_[row_];
  }

  void clear_to_line_end() {
    row().cells.resize(std::min(row().cells.size(), column_));
    row().wrapped = false;
    if (column_ == 0 && row_ > 0) rows_[row_ - 1].wrapped = false;
  }

  void line_feed() {
    row();
    ++row_;
    row();
    top_ = std::max(top_, row_ + 1 - std::min(row_ + 1, size_.rows));
  }

  void put(std::string_view character, std::size_t width) {
    if (width == 0) {
      if (column_ > 0 && column_ <= row().cells.size()) row().cells[column_ - 1] += character;
      return;
    }
    if (column_ + width > size_.columns) {
      if (wraps_) {
        row().wrapped = true;
        line_feed();
        column_ = 0;
      } else {
        column_ = size_.columns - width;
      }
    }
    if (row().cells.size() < column_ + width) row().cells.resize(column_ + width);
    row().cells[column_] = character;
    if (width == 2) row().cells[column_ + 1] = kSecondHalf;
    column_ += width;
  }

  void wrap_again(std::size_t columns) {
    std::vector<Row> wrapped;
    std::size_t cursor_row = 0;
    Row whole;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == row_) cursor_row = wrapped.size();  // the cursor is in a first column whenever a test resizes
      whole.cells.insert(whole.cells.end(), rows_[i].cells.begin(), rows_[i].cells.end());
      if (rows_[i].wrapped) continue;
      while (whole.cells.size() > columns) {
        const std::size_t cut = whole.cells[columns] == kSecondHalf ? columns - 1 : columns;
        const auto middle = whole.cells.begin() + static_cast<std::ptrdiff_t>(cut);
        wrapped.push_back({{whole.cells.begin(), middle}, true});
        whole.cells.erase(whole.cells.begin(), middle);
      }
      wrapped.push_back(std::exchange(whole, {}));
    }
    rows_ = std::move(wrapped);
    row_ = cursor_row;
  }

  ScreenSize size_;
  std::vector<Row> rows_;  // scrollback and screen
  std::size_t top_ = 0;    // the screen's first row
  std::size_t row_ = 0;    // the cursor's, in rows_
  std::size_t column_ = 0;
  bool wraps_ = true;
  bool cursor_shown_ = true;
  bool synchronized_ = false;
  std::size_t frames_ = 0;
};

/// A pseudo-terminal whose output goes to a FakeTerminal.
class TerminalFixture {
 public:
  explicit TerminalFixture(ScreenSize size = {}, Narrowing narrowing = Narrowing::wraps)
      : fake_(size), narrowing_(narrowing), far_end_(posix_openpt(O_RDWR | O_NOCTTY)) {
    grantpt(far_end_);
    unlockpt(far_end_);
    fd_ = open(ptsname(far_end_), O_RDWR | O_NOCTTY);
    EXPECT_GE(fd_, 0);
    set_size(size);
  }
  ~TerminalFixture() {
    close(fd_);
    hang_up();
  }
  TerminalFixture(const TerminalFixture&) = delete;
  TerminalFixture& operator=(const TerminalFixture&) = delete;

  int fd() const { return fd_; }

  /// What the terminal shows, after everything that was written has arrived.
  FakeTerminal& seen() {
    fake_.feed(arrived());
    return fake_;
  }

  /// The bytes that were written since the last time.
  std::string arrived() {
    constexpr char kMark = '\x05';
    EXPECT_EQ(write(fd_, &kMark, 1), 1);
    std::string bytes;
    while (!bytes.ends_with(kMark)) bytes += read_some();
    bytes.pop_back();
    return bytes;
  }

  /// The next bytes that arrive. Waits for them.
  std::string read_some() const {
    std::array<char, 4096> buffer{};
    const ssize_t got = read(far_end_, buffer.data(), buffer.size());
    EXPECT_GT(got, 0);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

  void resize(ScreenSize size) {
    seen().resize(size, narrowing_);
    set_size(size);
  }

  void hang_up() {
    if (far_end_ >= 0) close(far_end_);
    far_end_ = -1;
  }

 private:
  void set_size(ScreenSize size) const {
    winsize wanted{};
    wanted.ws_col = static_cast<unsigned short>(size.columns);
    wanted.ws_row = static_cast<unsigned short>(size.rows);
    EXPECT_EQ(ioctl(far_end_, TIOCSWINSZ, &wanted), 0);
  }

  FakeTerminal fake_;
  Narrowing narrowing_;
  int far_end_;
  int fd_ = -1;
};

}  // namespace drover
