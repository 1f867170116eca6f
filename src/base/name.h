// What jobs, runs and workers may be called: names that are safe in a path, a URL and a shell.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace drover {

/// Letters, digits, '_', '.', '-'; at most 128 of them; not "." or "..".
inline bool is_valid_name(std::string_view name) {
  if (name.empty() || name.size() > 128 || name == "." || name == "..") return false;
  return std::ranges::all_of(name,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; });
}

}  // namespace drover
