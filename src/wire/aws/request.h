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

}  // namespace drover::aws
