#include "wire/value_words.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover {
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() > kMostShown) return out + "…\"";
    const Utf8Char one = utf8_char(text, at);
    if (one.point == '\n') {
      out += "\\n";
    } else if (one.point == '"' || one.point == '\\') {
      out += '\\';
      out += static_cast<char>(one.point);
    } else if (!one.valid || one.point < ' ' || one.point == 0x7f) {
      out += '?';
    } else {
      out += text.substr(at, one.length);
    }
    at += one.length;
  }
  return out + "\"";
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null: return "empty";
    case Node::Kind::boolean: return node.text;
    case Node::Kind::number: return concat("the number ", node.text.substr(0, kMostShown));
    case Node::Kind::text: return concat("the string ", quoted(node.text));
    case Node::Kind::list: return "a list";
    case Node::Kind::object: return "an object";
  }
  return {};
}

bool is_whole(std::string_view text, std::int64_t& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool is_real(std::string_view text, double& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool matches(std::string_view text, std::string_view pattern) {
  // The library's matcher goes one call deeper for each letter.
  if (text.size() > 512) return false;
  // Patterns are those of fields: few, and compiling one takes a hundred times as long as a match.
  thread_local std::map<std::string, std::regex, std::less<>> compiled;
  auto known = compiled.find(pattern);
  if (known == compiled.end()) {
    known = compiled.emplace(std::string(pattern), std::regex(pattern.begin(), pattern.end())).first;
  }
  return std::regex_match(text.begin(), text.end(), known->second);
}

std::pair<std::string, std::string> number_and_unit(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit;
  for (const char c : text.substr(end)) {
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const bool number = matches(text.substr(0, end), "[0-9]+(\\.[0-9]+)?");
  return {number ? std::string(text.substr(0, end)) : "", unit};
}

std::string meant_time(std::string_view text) {
  const auto [number, unit] = number_and_unit(text);
  if (number.empty()) return {};
  if (unit.empty()) return concat("add a unit: ", number, "s, ", number, "m or ", number, "h");
  static constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"ms", "ms"}, {"msec", "ms"}, {"millis", "ms"}, {"milliseconds", "ms"}, {"s", "s"},
      {"sec", "s"}, {"secs", "s"},  {"second", "s"},  {"seconds", "s"},       {"m", "m"},
      {"min", "m"}, {"mins", "m"},  {"minute", "m"},  {"minutes", "m"},       {"h", "h"},
      {"hr", "h"},  {"hrs", "h"},   {"hour", "h"},    {"hours", "h"},         {"d", "d"},
      {"day", "d"}, {"days", "d"}};
  const auto* it = std::ranges::find(kUnits, unit, &std::pair<std::string_view, std::string_view>::first);
  return it == std::end(kUnits) ? std::string() : concat("write ", number, it->second);
}

std::string meant_size(std::string_view text) {
  const auto [number, unit] = number_and_unit(text);
  if (number.empty()) return {};
  if (unit.empty()) return concat("add a unit: ", number, "MiB or ", number, "GiB; ", number, "B for bytes");
  const std::string_view letters = "kmgt";
  const std::size_t at = letters.find(unit.front());
  static constexpr std::string_view kBinary[] = {"KiB", "MiB", "GiB", "TiB"};
  static constexpr std::string_view kDecimal[] = {"kB", "MB", "GB", "TB"};
  if (at == std::string_view::npos || unit.size() > 3) return {};
  return concat("write ", number, kBinary[at], " (powers of 1024), or ", number, kDecimal[at], " (of 1000)");
}

std::string placeholder(const Node& node) {
  if (node.kind != Node::Kind::object) return {};
  if (node.fields.empty()) return "{}";
  if (node.fields.size() == 1 && node.fields.front().value.kind == Node::Kind::null) {
    return concat("{", utf8(node.fields.front().name), "}");
  }
  return {};
}

std::string with_dashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    if (good) out += c;
    if (!good && !out.empty() && out.back() != '-') out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  while (out.starts_with('.') || out.starts_with('-')) out.erase(0, 1);
  return out;
}

std::string element(std::string_view path, std::size_t index) {
  return concat(path, "[", index, "]");
}

std::string member(std::string_view path, std::string_view name) {
  return concat(path, path.empty() ? "" : ".", utf8(name));
}

}  // namespace drover
