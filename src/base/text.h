// Small things with text. Putting it together without a formatting library: base and core have none.
#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>

namespace drover {

inline void append_text(std::string& out, std::string_view part) {
  out += part;
}
inline void append_text(std::string& out, char part) {
  out += part;
}
template <std::integral T>
  requires(!std::same_as<T, char>)
void append_text(std::string& out, T part) {
  out += std::to_string(part);
}

inline std::size_t text_size(std::string_view part) {
  return part.size();
}
inline std::size_t text_size(char /*part*/) {
  return 1;
}
/// Or a few more.
template <std::integral T>
  requires(!std::same_as<T, char>)
constexpr std::size_t text_size(T /*part*/) {
  return std::numeric_limits<T>::digits10 + 2;
}

/// concat("item ", 3, " of ", name) → one string, which is allocated once.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  out.reserve((text_size(parts) + ... + 0));
  (append_text(out, parts), ...);
  return out;
}

// Of ASCII letters; all else stays as it is.

inline char small_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string in_small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = small_letter(c);
  return out;
}

inline bool is_same_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, small_letter, small_letter);
}

/// Takes what stands before the next `separator`, or all of it, from the front of `rest`.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// Without spaces and tabs at both ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The value of a hexadecimal digit, or -1 if it is not one.
inline int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace drover
