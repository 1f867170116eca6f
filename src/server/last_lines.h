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
      if (lines_.size() > count_) lines_.pop_front();
      if (!lines_.empty()) lines_.back() += piece.substr(0, size);
      at_line_start_ = newline != std::string_view::npos;
      piece.remove_prefix(size);
    }
  }

  std::string text() const {
    std::string text;
    for (const std::string& line : lines_) text += line;
    return text;
  }

 private:
  const std::uint64_t count_;
  std::deque<std::string> lines_;
  bool at_line_start_ = true;
};

}  // namespace drover
