#include "screen/plain_text.h"

#include <algorithm>

#include "base/utf8.h"
#include "screen/char_width.h"

namespace drover {
namespace {

// Real scripts stack a few marks on a letter; a text that stacks hundreds would cover the lines around it.
constexpr int kMostMarks = 4;

constexpr char32_t kEscape = 0x1b;

bool between(char32_t value, char32_t first, char32_t last) {
  return first <= value && value <= last;
}

bool is_blank(char32_t point) {
  return point == ' ' || between(point, '\t', '\r') || point == 0x85 || point == 0x2028 || point == 0x2029;
}

bool is_control(char32_t point) {
  return point < 0x20 || between(point, 0x7f, 0x9f) || (point & 0xfffeU) == 0xfffe || between(point, 0xfdd0, 0xfdef);
}

// Marks of direction, joiners, variation selectors, tags. They change how what follows is shown, or how wide it is in
// some terminals and not in others.
bool is_formatting(char32_t point) {
  return point == 0xad || between(point, 0x600, 0x605) || point == 0x61c || point == 0x6dd || point == 0x70f ||
         between(point, 0x890, 0x891) || point == 0x8e2 || between(point, 0x180b, 0x180f) ||
         between(point, 0x200b, 0x200f) || between(point, 0x202a, 0x202e) || between(point, 0x2060, 0x206f) ||
         between(point, 0xfe00, 0xfe0f) || point == 0xfeff || between(point, 0xfff9, 0xfffb) ||
         between(point, 0x1d173, 0x1d17a) || between(point, 0xe0000, 0xe0fff);
}

// How many bytes the escape sequence that begins at `at` has.
std::size_t escape_length(std::string_view text, std::size_t at) {
  const auto skip = [&](std::size_t from, char first, char last) {
    while (from < text.size() && text[from] >= first && text[from] <= last) ++from;
    return from;
  };
  const std::size_t kind = at + 1;
  if (kind >= text.size()) return 1;
  if (text[kind] == '[') {
    const std::size_t last = skip(kind + 1, ' ', '?');
    return (last < text.size() && text[last] >= '@' && text[last] <= '~' ? last + 1 : last) - at;
  }
  if (std::string_view("]P^_X").contains(text[kind])) {  // a string, up to BEL or ESC backslash
    const std::size_t end = text.find_first_of("\x07\x1b", kind + 1);
    // Without an end it is no sequence, and what follows is text worth showing.
    if (end == std::string_view::npos) return 2;
    return (text[end] == '\x07' ? end + 1 : std::min(end + 2, text.size())) - at;
  }
  const std::size_t last = skip(kind, ' ', '/');
  return (last < text.size() && text[last] >= '0' && text[last] <= '~' ? last + 1 : last) - at;
}

/// Gathers characters until they are too wide.
class CutText {
 public:
  explicit CutText(std::size_t most_cells) : most_cells_(most_cells) {}

  /// False once the text is full: nothing more will show.
  bool add(std::string_view bytes, char32_t point) {
    const std::size_t width = char_width(point);
    if (width == 0) {
      if (text_.empty() || ++marks_ > kMostMarks) return true;
    } else {
      marks_ = 0;
    }
    if (cells_ + width > most_cells_) {
      text_.resize(room_for_dots_);
      while (text_.ends_with(' ')) text_.pop_back();
      if (most_cells_ > 0) text_ += "…";
      return false;
    }
    text_ += bytes;
    cells_ += width;
    if (cells_ + 1 <= most_cells_) room_for_dots_ = text_.size();
    return true;
  }

  bool empty() const { return text_.empty(); }
  std::string take() { return std::move(text_); }

 private:
  std::size_t most_cells_;
  std::string text_;
  std::size_t cells_ = 0;
  std::size_t room_for_dots_ = 0;  // bytes after which one more cell fits
  int marks_ = 0;
};

}  // namespace

std::string plain_text(std::string_view bytes, std::size_t most_cells) {
  CutText out(most_cells);
  std::size_t blanks = 0;  // held back: they count only when something follows
  for (std::size_t at = 0; at < bytes.size();) {
    const Utf8Char character = utf8_char(bytes, at);
    if (character.point == kEscape) {
      at += escape_length(bytes, at);
      continue;
    }
    const std::string_view own = bytes.substr(at, character.length);
    at += character.length;
    if (character.valid && is_formatting(character.point)) continue;
    if (is_blank(character.point)) {
      if (!out.empty()) ++blanks;
      continue;
    }
    for (; blanks > 0; --blanks) {
      if (!out.add(" ", ' ')) return out.take();
    }
    const bool shown = character.valid && !is_control(character.point);
    if (!(shown ? out.add(own, character.point) : out.add("\xef\xbf\xbd", kReplacement))) break;
  }
  return out.take();
}

std::string_view after_last_return(std::string_view line) {
  const std::size_t end = line.find_last_not_of("\r\n");
  if (end == std::string_view::npos) return {};
  line = line.substr(0, end + 1);
  return line.substr(line.rfind('\r') + 1);
}

}  // namespace drover
