#include "wire/json_text.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace {

constexpr std::size_t kMostNested = 200;

/// Reads one text from its beginning to its end.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  std::optional<std::string> error;

  std::string_view spaces() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool is_at_end() const { return at_ == text_.size(); }
  bool refuse(std::string_view what) {
    if (!error) {
      const std::string_view before = text_.substr(0, at_);
      const auto line = std::ranges::count(before, '\n') + 1;
      const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
      error = concat("line ", line, ", column ", at_ - line_start + 1, ": ", what);
    }
    return false;
  }

  bool value(JsonValue& into, std::size_t depth = 0) {
    if (depth > kMostNested) return refuse("values are nested too deeply");
    if (is_at_end()) return refuse("a value is missing: the text ends here");
    switch (text_[at_]) {
      case '{': return container(into, JsonValue::Kind::object, '}', depth);
      case '[': return container(into, JsonValue::Kind::array, ']', depth);
      case '"': {
        const auto raw = string();
        if (!raw) return false;
        into.kind = JsonValue::Kind::string;
        into.text = *raw;
        return true;
      }
      default: return word(into);
    }
  }

 private:
  std::optional<std::string_view> string() {
    const std::size_t begin = at_++;
    while (true) {
      if (is_at_end()) return refuse("a string has no closing quote"), std::nullopt;
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return refuse("a control character in a string"), std::nullopt;
      ++at_;
      if (c == '"') return text_.substr(begin, at_ - begin);
      if (c != '\\') continue;
      if (is_at_end() || std::string_view("\"\\/bfnrtu").find(text_[at_]) == std::string_view::npos) {
        return refuse("an unknown escape in a string"), std::nullopt;
      }
      if (text_[at_++] != 'u') continue;
      for (int i = 0; i < 4; ++i, ++at_) {
        if (is_at_end() || hex_value(text_[at_]) < 0) return refuse("\\u needs four hexadecimal digits"), std::nullopt;
      }
    }
  }

  bool word(JsonValue& into) {
    const std::size_t begin = at_;
    while (!is_at_end() && std::string_view(" \t\r\n,]}:[{\"").find(text_[at_]) == std::string_view::npos) ++at_;
    into.text = text_.substr(begin, at_ - begin);
    if (into.text == "null") {
      into.kind = JsonValue::Kind::null;
    } else if (into.text == "true" || into.text == "false") {
      into.kind = JsonValue::Kind::boolean;
    } else if (is_json_number(into.text)) {
      into.kind = JsonValue::Kind::number;
    } else {
      at_ = begin;
      return refuse("this is not a JSON value");
    }
    return true;
  }

  bool container(JsonValue& into, JsonValue::Kind kind, char close, std::size_t depth) {
    into.kind = kind;
    ++at_;
    const std::size_t inside = at_;
    spaces();
    if (!is_at_end() && text_[at_] == close) {
      into.tail = text_.substr(inside, at_ - inside);
      ++at_;
      return true;
    }
    at_ = inside;
    while (true) {
      JsonValue::Child& child = into.children.emplace_back();
      const std::size_t begin = at_;
      spaces();
      if (kind == JsonValue::Kind::object) {
        if (is_at_end() || text_[at_] != '"') return refuse("a member's name in quotes is missing");
        JsonValue name{.kind = JsonValue::Kind::string};
        const auto raw = string();
        if (!raw) return false;
        name.text = *raw;
        child.name = name.string();
        spaces();
        if (is_at_end() || text_[at_] != ':') return refuse("a colon is missing");
        ++at_;
        spaces();
      }
      child.lead = text_.substr(begin, at_ - begin);
      if (!value(child.value, depth + 1)) return false;
      child.trail = spaces();
      if (is_at_end()) return refuse("a closing bracket is missing: the text ends here");
      const char next = text_[at_];
      if (next != ',' && next != close) return refuse("a comma or a closing bracket is missing");
      ++at_;
      if (next == close) return true;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view leading_spaces(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

void append_utf8(std::string& out, char32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += {static_cast<char>(0xc0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3f))};
  } else if (point < 0x10000) {
    out += {static_cast<char>(0xe0 | (point >> 12)), static_cast<char>(0x80 | ((point >> 6) & 0x3f)),
            static_cast<char>(0x80 | (point & 0x3f))};
  } else {
    out += {static_cast<char>(0xf0 | (point >> 18)), static_cast<char>(0x80 | ((point >> 12) & 0x3f)),
            static_cast<char>(0x80 | ((point >> 6) & 0x3f)), static_cast<char>(0x80 | (point & 0x3f))};
  }
}

char32_t four_digits(std::string_view text) {
  char32_t out = 0;
  for (const char c : text) out = out * 16 + static_cast<char32_t>(hex_value(c));
  return out;
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  for (auto it = children.rbegin(); it != children.rend(); ++it) {
    if (it->name == name) return &it->value;
  }
  return nullptr;
}

JsonValue* JsonValue::find(std::string_view name) {
  return const_cast<JsonValue*>(std::as_const(*this).find(name));
}

std::string JsonValue::string() const {
  if (kind != Kind::string) return std::string(text);
  std::string out;
  const std::string_view inside = text.substr(1, text.size() - 2);
  out.reserve(inside.size());
  for (std::size_t at = 0; at < inside.size(); ++at) {
    if (inside[at] != '\\') {
      out += inside[at];
      continue;
    }
    switch (inside[++at]) {
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': {
        char32_t point = four_digits(inside.substr(at + 1, 4));
        at += 4;
        const bool is_high = point >= 0xd800 && point < 0xdc00;
        if (is_high && inside.substr(at + 1, 2) == "\\u") {
          const char32_t low = four_digits(inside.substr(at + 3, 4));
          if (low >= 0xdc00 && low < 0xe000) {
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
          }
        }
        append_utf8(out, point >= 0xd800 && point < 0xe000 ? kReplacement : point);
        break;
      }
      default: out += inside[at];
    }
  }
  return out;
}

std::vector<std::string> JsonValue::strings() const {
  std::vector<std::string> out;
  for (const Child& child : children) {
    if (child.value.is_string()) out.push_back(child.value.string());
  }
  return out;
}

Result<JsonText> JsonText::parse(std::string text) {
  JsonText out;
  JsonReader reader(out.keep(std::move(text)));
  out.before_ = reader.spaces();
  if (reader.value(out.root_)) {
    out.after_ = reader.spaces();
    if (!reader.is_at_end()) reader.refuse("there is text after the end of the value");
  }
  if (reader.error) return fail(ErrorCode::bad_input, *reader.error);
  return out;
}

std::string JsonText::text() const {
  std::string out(before_);
  out.reserve(texts_.front().size() + 4096);
  append_json(out, root_);
  return out += after_;
}

JsonValue JsonText::value(std::string json) {
  JsonReader reader(keep(std::move(json)));
  JsonValue out;
  reader.spaces();
  const bool is_whole = reader.value(out);
  reader.spaces();
  DROVER_CHECK(is_whole && reader.is_at_end(), "a value made here is JSON");
  return out;
}

// A new last value takes over the spaces before the bracket. In an empty container one newline is added and, when it is
// erased, removed.
JsonValue::Child& JsonText::add_last(JsonValue& to, std::string_view name) {
  const bool is_named = to.is_object();
  const std::string quoted = is_named ? concat(json_quoted(name), ": ") : std::string();
  JsonValue::Child added;
  if (to.children.empty()) {
    added.lead = keep(concat("\n    ", quoted));
    added.trail = keep(concat("\n", to.tail));
    to.tail = {};
  } else {
    JsonValue::Child& last = to.children.back();
    added.lead = keep(concat(leading_spaces(last.lead), quoted));
    added.trail = std::exchange(last.trail, {});
  }
  added.name = name;
  return to.children.emplace_back(std::move(added));
}

JsonValue& JsonText::set(JsonValue& object, std::string_view name, JsonValue value) {
  if (JsonValue* there = object.find(name); there != nullptr) return *there = std::move(value);
  JsonValue::Child& added = add_last(object, name);
  added.value = std::move(value);
  return added.value;
}

JsonValue& JsonText::member(JsonValue& object, std::string_view name, std::string_view if_missing) {
  JsonValue* there = object.find(name);
  if (there != nullptr && there->kind != JsonValue::Kind::null) return *there;
  return set(object, name, value(std::string(if_missing)));
}

void JsonText::append(JsonValue& array, JsonValue value) {
  add_last(array, {}).value = std::move(value);
}

void JsonText::prepend(JsonValue& array, JsonValue value) {
  if (array.children.empty()) return append(array, std::move(value));
  JsonValue::Child first{.lead = array.children.front().lead, .trail = {}, .name = {}, .value = std::move(value)};
  array.children.insert(array.children.begin(), std::move(first));
}

void JsonText::erase(JsonValue& from, std::size_t index) {
  const std::string_view trail = from.children[index].trail;
  const bool is_last = index + 1 == from.children.size();
  from.children.erase(from.children.begin() + static_cast<std::ptrdiff_t>(index));
  if (from.children.empty()) {
    from.tail = trail.starts_with('\n') ? trail.substr(1) : trail;
  } else if (is_last) {
    from.children.back().trail = trail;
  }
}

bool JsonText::erase(JsonValue& object, std::string_view name) {
  const auto it = std::ranges::find(object.children, name, &JsonValue::Child::name);
  if (it == object.children.end()) return false;
  erase(object, static_cast<std::size_t>(it - object.children.begin()));
  return true;
}

bool is_json_number(std::string_view text) {
  const auto digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool zero = text.starts_with('0');
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return text.empty();
}

void append_json(std::string& out, const JsonValue& value) {
  if (!value.is_array() && !value.is_object()) {
    out += value.text;
    return;
  }
  out += value.is_object() ? '{' : '[';
  if (value.children.empty()) out += value.tail;
  for (std::size_t i = 0; i < value.children.size(); ++i) {
    if (i > 0) out += ',';
    out += value.children[i].lead;
    append_json(out, value.children[i].value);
    out += value.children[i].trail;
  }
  out += value.is_object() ? '}' : ']';
}

std::string json_quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (byte < 0x20) {
          out += {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 15]};
        } else {
          out += c;
        }
    }
  }
  return out += '"';
}

}  // namespace drover
