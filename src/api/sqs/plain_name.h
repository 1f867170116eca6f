// What names of queues, ids of entries and labels of permissions are made of.
#pragma once

#include <algorithm>
#include <string_view>

namespace drover::aws {

inline constexpr std::size_t kLongestPlainName = 80;

/// Letters, digits, '-' and '_'.
inline bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPlainName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace drover::aws
