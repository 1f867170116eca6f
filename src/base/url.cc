#include "base/url.h"

#include "base/text.h"

#include <algorithm>

namespace drover {
namespace {

/// Cuts the text at its first `separator` and gives what stood before it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return before;
}

std::optional<std::string> form_decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decoded(spaced);
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    if (is_plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::optional<std::vector<std::string>> path_segments(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = percent_decoded(path.substr(0, end));
    if (!segment) return std::nullopt;
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

std::optional<QueryPairs> query_pairs(std::string_view query) {
  QueryPairs pairs;
  while (!query.empty()) {
    std::string_view value = cut(query, '&');
    if (value.empty()) continue;
    auto name = form_decoded(cut(value, '='));
    auto decoded = form_decoded(value);
    if (!name || !decoded) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*decoded));
  }
  return pairs;
}

}  // namespace drover
