#include "wire/aws/input.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/utf8.h"
#include "wire/aws/arena.h"
#include "wire/aws/bad_input.h"
#include "wire/aws/times.h"
#include "wire/base64.h"

namespace drover::aws {
namespace {

namespace json = boost::json;
using Value = std::expected<json::value, BadInput>;

/// In characters.
std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool fits_integer(const Shape& shape, std::int64_t value) {
  return shape.kind == Kind::long_integer ||
         (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max());
}

Value read_whole(const Shape& shape, const json::value& from) {
  if (!from.is_int64()) return bad(from.is_uint64() ? "is too large" : "must be a whole number");
  if (!fits_integer(shape, from.get_int64())) return bad("must fit in 32 bits");
  return from;
}

Value read_time(const json::value& from) {
  json::error_code error;
  const auto seconds = from.to_number<double>(error);
  if (error || !(std::abs(seconds) < 1e12)) return bad("must be a time in seconds since 1970");
  return json::value(static_cast<std::int64_t>(std::llround(seconds * 1000)));
}

Value read_value(const Shape& shape, json::value from);

Value read_list(const Shape& shape, json::value from) {
  if (!from.is_array()) return bad("must be a list");
  std::size_t index = 0;
  for (json::value& it : from.get_array()) {
    auto element = read_value(*shape.element, std::move(it));
    if (!element) return within(concat("[", index, "]"), std::move(element.error()));
    it = std::move(*element);
    ++index;
  }
  return from;
}

Value read_map(const Shape& shape, json::value from) {
  if (!from.is_object()) return bad("must be an object");
  for (auto& [key, it] : from.get_object()) {
    auto element = read_value(*shape.element, std::move(it));
    if (!element) return within(concat("['", shown_name(key), "']"), std::move(element.error()));
    it = std::move(*element);
  }
  return from;
}

Value read_structure(const Shape& shape, json::value from) {
  if (!from.is_object()) return bad("must be an object");
  json::object out(from.storage());
  out.reserve(from.get_object().size());
  for (auto& [key, it] : from.get_object()) {
    const auto found = std::ranges::find_if(shape.members, [&](const Member& member) {
      return member.location == Location::body && member.wire_name == std::string_view(key);
    });
    if (found == shape.members.end()) return within(shown_name(key), {{}, "is not a member that this operation has"});
    if (it.is_null()) continue;
    auto member = read_value(*found->shape, std::move(it));
    if (!member) return within(found->name, std::move(member.error()));
    out[found->name] = std::move(*member);
  }
  return out;
}

Value read_value(const Shape& shape, json::value from) {
  switch (shape.kind) {
    case Kind::string:
      if (!from.is_string()) return bad("must be a string");
      return from;
    case Kind::integer:
    case Kind::long_integer: return read_whole(shape, from);
    case Kind::real:
      if (!from.is_number()) return bad("must be a number");
      return json::value(from.to_number<double>());
    case Kind::boolean:
      if (!from.is_bool()) return bad("must be true or false");
      return from;
    case Kind::time: return read_time(from);
    case Kind::blob: {
      const auto bytes = from.is_string() ? from_base64(from.get_string()) : std::nullopt;
      if (!bytes) return bad("must be bytes in base64");
      return json::value(*bytes);
    }
    case Kind::list: return read_list(shape, std::move(from));
    case Kind::map: return read_map(shape, std::move(from));
    case Kind::structure: return read_structure(shape, std::move(from));
    case Kind::any: return from;
  }
  return bad("has no type");
}

/// "1 to 128", "at least 1", "at most 128".
std::string range_of(const Member& member) {
  const auto number = [](double value) { return concat(static_cast<std::int64_t>(value)); };
  const std::string least = member.least ? number(*member.least) : "";
  const std::string most = member.most ? number(*member.most) : "";
  if (most.empty()) return concat("at least ", least);
  if (least.empty()) return concat("at most ", most);
  return concat(least, " to ", most);
}

/// How large it is, and what that counts; nothing: it has no bounds.
std::optional<std::pair<double, std::string_view>> extent_of(const json::value& value) {
  if (value.is_string()) return std::pair(static_cast<double>(length_of(value.get_string())), " characters");
  if (value.is_array()) return std::pair(static_cast<double>(value.get_array().size()), " elements");
  if (value.is_object()) return std::pair(static_cast<double>(value.get_object().size()), " entries");
  if (value.is_number()) return std::pair(value.to_number<double>(), "");
  return std::nullopt;
}

std::expected<void, BadInput> check(const Shape& shape, const json::value& value);

std::expected<void, BadInput> check_member(const Member& member, const json::value& value) {
  // Long texts without bounds are not counted.
  const auto extent = member.least || member.most ? extent_of(value) : std::nullopt;
  if (extent) {
    const bool inside =
        (!member.least || extent->first >= *member.least) && (!member.most || extent->first <= *member.most);
    if (!inside) {
      return bad(concat(extent->second.empty() ? "must be " : "must have ", range_of(member), extent->second));
    }
  }
  return check(*member.shape, value);
}

std::expected<void, BadInput> check(const Shape& shape, const json::value& value) {
  if (shape.kind == Kind::structure) return check_bounds(shape, value.get_object());
  if (shape.kind == Kind::list) {
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      if (auto good = check(*shape.element, value.get_array()[i]); !good) {
        return within(concat("[", i, "]"), std::move(good.error()));
      }
    }
  }
  if (shape.kind == Kind::map) {
    for (const auto& [key, it] : value.get_object()) {
      if (auto good = check(*shape.element, it); !good) {
        return within(concat("['", shown_name(key), "']"), std::move(good.error()));
      }
    }
  }
  if (!shape.words.empty() &&
      std::ranges::find(shape.words, std::string_view(value.get_string())) == shape.words.end()) {
    std::string words;
    for (const std::string& it : shape.words) words += concat(words.empty() ? "" : ", ", it);
    return bad(concat("must be one of ", words));
  }
  return {};
}

}  // namespace

std::string shown_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return utf8(name.substr(0, kMost));
}

std::expected<void, BadInput> check_bounds(const Shape& structure, const json::object& value) {
  for (const Member& member : structure.members) {
    const json::value* it = value.if_contains(member.name);
    if (it == nullptr && member.required) return within(member.name, {{}, "is required", true});
    if (it == nullptr) continue;
    if (auto good = check_member(member, *it); !good) return within(member.name, std::move(good.error()));
  }
  return {};
}

Value read_text(const Shape& shape, std::string_view text) {
  switch (shape.kind) {
    case Kind::string: return json::value(utf8(text));
    case Kind::integer:
    case Kind::long_integer: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size()) return bad("must be a whole number");
      if (!fits_integer(shape, number)) return bad("must fit in 32 bits");
      return json::value(number);
    }
    case Kind::real: {
      json::error_code error;
      const json::value number = json::parse(text, error);
      if (error || !number.is_number()) return bad("must be a number");
      return json::value(number.to_number<double>());
    }
    case Kind::boolean:
      if (text != "true" && text != "false") return bad("must be true or false");
      return json::value(text == "true");
    case Kind::time: {
      const auto ms = parse_iso_time(text);
      if (!ms) return bad("must be a time such as 2026-01-31T12:00:00Z");
      return json::value(*ms);
    }
    case Kind::blob: {
      const auto bytes = from_base64(text);
      if (!bytes) return bad("must be bytes in base64");
      return json::value(*bytes);
    }
    default: return bad("must not be a single value");
  }
}

Input read_json_input(const Shape& input, std::string_view body, const QueryPairs& others) {
  constexpr std::size_t kBesidesStrings = 2048;
  json::error_code error;
  json::value parsed = json::parse(body.empty() ? "{}" : body, error, arena(body.size() + kBesidesStrings));
  if (error) return bad(concat("the body is not valid JSON: ", error.message()));
  if (!parsed.is_object()) return bad("the body must be a JSON object");
  auto read = read_structure(input, std::move(parsed));
  if (!read) return std::unexpected(std::move(read.error()));
  json::object out = std::move(read->get_object());
  for (const auto& [name, text] : others) {
    const auto member = std::ranges::find_if(
        input.members, [&](const Member& it) { return it.location != Location::body && it.wire_name == name; });
    if (member == input.members.end())
      return within(shown_name(name), {{}, "is not a parameter that this operation has"});
    const bool is_list = member->shape->kind == Kind::list;
    auto value = read_text(is_list ? *member->shape->element : *member->shape, text);
    if (!value) return within(member->name, std::move(value.error()));
    if (!is_list) {
      out[member->name] = std::move(*value);
      continue;
    }
    json::value& list = out[member->name];
    if (!list.is_array()) list = json::array();
    list.get_array().push_back(std::move(*value));
  }
  if (auto good = check_bounds(input, out); !good) return std::unexpected(std::move(good.error()));
  return out;
}

}  // namespace drover::aws
