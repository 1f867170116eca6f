// The last lines of a text that comes in pieces: all of it passes, little of it is kept.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace drover {

class LastLines {
 public:
  explicit LastLines(std::uint64_t count) : count_(count) {}

  void add(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t newline = piece.find('\n');
      const std::size_t size = newline == std::string_view::npos ? piece.size() : newline + 1;
      if (at_line_start_) lines_.emplace_back();
      if (lines_.size() > count_) drop_first();
      if (!lines_.empty()) {
        lines_.back() += piece.substr(0, size);
        bytes_ += size;
      }
      while (bytes_ > kMostBytes) drop_first();
      at_line_start_ = newline != std::string_view::npos;
      piece.remove_prefix(size);
    }
  }

  std::string text() const {
    std::string text;
    for (const std::string& line : lines_) text += line;
    return text;
  }

  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of longer ones the end

 private:
  void drop_first() {
    bytes_ -= lines_.front().size();
    if (lines_.size() > 1 || bytes_ + lines_.front().size() <= kMostBytes) {
      lines_.pop_front();
      return;
    }
    lines_.front().erase(0, lines_.front().size() - kMostBytes / 2);
    bytes_ = lines_.front().size();
  }

  const std::uint64_t count_;
  std::deque<std::string> lines_;
  bool at_line_start_ = true;
  std::size_t bytes_ = 0;
};

}  // namespace drover
