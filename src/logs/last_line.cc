#include "logs/last_line.h"

#include <algorithm>

namespace drover {
namespace {

// Nobody reads a last line that begins further back than this in one piece.
constexpr std::size_t kLookBack = 4096;

}  // namespace

bool LastLine::has_words(std::string_view line) {
  return line.find_first_not_of(" \t\r") != std::string_view::npos;
}

void LastLine::add(std::string_view part) {
  current_ += part.substr(0, kMost - std::min(kMost, current_.size()));
}

void LastLine::see(std::string_view bytes) {
  if (bytes.size() > kLookBack) {
    bytes.remove_prefix(bytes.size() - kLookBack);
    current_.clear();
  }
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    add(bytes.substr(0, end));
    if (has_words(current_)) {
      while (current_.ends_with('\r') || current_.ends_with(' ')) current_.pop_back();
      last_ = current_;
    }
    current_.clear();
    bytes.remove_prefix(end + 1);
  }
  add(bytes);
}

}  // namespace drover
