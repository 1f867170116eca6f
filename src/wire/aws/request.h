// The head of a request as its signature sees it: exactly as it was sent.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.h"

namespace drover::aws {

inline constexpr std::string_view kS3 = "s3";

struct Header {
  std::string_view name;
  std::string_view value;
};

struct Request {
  std::string_view method;
  std::string_view path;   // with its escapes, without the query
  std::string_view query;  // with its escapes, without the '?'
  std::span<const Header> headers;
};

/// By bytes, as if all letters were small.
inline std::strong_ordering compare_names(std::string_view a, std::string_view b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return static_cast<unsigned char>(small_letter(x)) <=> static_cast<unsigned char>(small_letter(y));
  });
}

/// The first one of that name.
inline std::optional<std::string_view> find_header(const Request& request, std::string_view name) {
  const auto found =
      std::ranges::find_if(request.headers, [&](const Header& it) { return is_same_but_for_case(it.name, name); });
  if (found == request.headers.end()) return std::nullopt;
  return found->value;
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

}  // namespace drover::aws
