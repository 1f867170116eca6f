// Reading UTF-8 one character at a time, from text that may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace drover {

constexpr char32_t kReplacement = 0xfffd;

/// One character of a text. A byte that belongs to none reads as kReplacement, one byte long.
struct Utf8Char {
  char32_t point = kReplacement;
  std::size_t length = 1;  // bytes
  bool valid = false;
};

/// The character that begins at byte `at`, which must be inside `text`.
Utf8Char utf8_char(std::string_view text, std::size_t at);

/// The text with everything that is not UTF-8 replaced: what JSON and pages can carry.
std::string utf8(std::string_view bytes);

}  // namespace drover
