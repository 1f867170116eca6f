#include "wire/path_map.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace json = boost::json;
namespace {

void take_slashes_off(std::string& path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
}

}  // namespace

void PathMap::add(std::string from, std::string to) {
  take_slashes_off(from);
  take_slashes_off(to);
  std::erase_if(rules_, [&](const auto& rule) { return rule.first == from; });
  const auto at = std::ranges::find_if(rules_, [&](const auto& rule) { return rule.first.size() < from.size(); });
  rules_.insert(at, {std::move(from), std::move(to)});
}

std::string PathMap::apply(std::string_view item) const {
  for (const auto& [from, to] : rules_) {
    if (!item.starts_with(from)) continue;
    std::string_view rest = item.substr(from.size());
    if (from == "/") rest = item;  // whose slash is also the next component's
    if (!rest.empty() && rest.front() != '/') continue;
    if (to == "/") return rest.empty() ? "/" : std::string(rest);
    return concat(to, rest);
  }
  return std::string(item);
}

std::string PathMap::apply_to_json(std::string_view item) const {
  std::string out;
  for (std::size_t at = 0; at < item.size();) {
    if (item[at] != '"') {
      out += item[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < item.size() && item[end] != '"') end += item[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, item.size());
    const std::string_view literal = item.substr(at, end - at);
    at = end;
    const std::size_t next = item.find_first_not_of(" \t\r\n", end);
    const bool is_name = next != std::string_view::npos && item[next] == ':';
    json::error_code error;
    const json::value text = is_name ? json::value() : json::parse(literal, error);
    if (error || !text.is_string()) {
      out += literal;
      continue;
    }
    const std::string_view before(text.get_string());
    const std::string after = apply(before);
    out += after == before ? std::string(literal) : json::serialize(json::string_view(after));
  }
  return out;
}

Result<std::pair<std::string, std::string>> map_from_word(std::string_view flag, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size()) {
    return fail(ErrorCode::bad_input, concat(flag, " '", utf8(word), "' is not FROM=TO"),
                concat("write ", flag, " /mnt/data=s3://bucket/data"));
  }
  return std::pair{std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))};
}

}  // namespace drover
