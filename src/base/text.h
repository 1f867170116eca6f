// Putting text together without a formatting library: base and core have none.
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

}  // namespace drover
