// Small things with text. Putting it together without a formatting library: base and core have none.
#pragma once

#include <concepts>
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

/// concat("item ", 3, " of ", name) → one string.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

/// ASCII letters; all else stays as it is.
inline std::string in_small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// The value of a hexadecimal digit, or -1 if it is not one.
inline int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace drover
