#include "wire/aws/output.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/serializer.hpp>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/aws/times.h"
#include "wire/base64.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

bool is_written_as_it_is(std::string_view text) {
  return std::ranges::none_of(text,
                              [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\'; });
}

// Straight into `out`: bodies are long, and names many.
void write_string(std::string_view text, std::string& out) {
  constexpr std::size_t kQuotes = 2;
  constexpr std::size_t kShort = 64;
  if (text.size() <= kShort && is_written_as_it_is(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  json::serializer writer;
  writer.reset(text);
  while (!writer.done()) {
    const std::size_t before = out.size();
    out.resize_and_overwrite(before + text.size() + kQuotes, [&](char* bytes, std::size_t size) {
      return before + writer.read(bytes + before, size - before).size();
    });
  }
}

/// About how long it will be.
std::size_t json_size(const json::value& value) {
  constexpr std::size_t kPunctuation = 4;
  constexpr std::size_t kOther = 16;
  std::size_t sum = kPunctuation;
  if (const json::string* text = value.if_string()) return sum + text->size();
  if (const json::object* members = value.if_object()) {
    for (const auto& [name, it] : *members) sum += name.size() + json_size(it);
    return sum;
  }
  if (const json::array* all = value.if_array()) {
    for (const json::value& it : *all) sum += json_size(it);
    return sum;
  }
  return sum + kOther;
}

void write_json(const Shape& shape, const json::value& value, std::string& out);

void write_json_members(const Shape& shape, const json::object& value, std::string& out) {
  out += '{';
  std::size_t written = 0;
  for (const Member& member : shape.members) {
    const json::value* it = value.if_contains(member.name);
    if (it == nullptr) continue;
    if (written++ > 0) out += ',';
    write_string(member.wire_name, out);
    out += ':';
    write_json(*member.shape, *it, out);
  }
  DROVER_CHECK(written == value.size(), "every member of an output is described");
  out += '}';
}

void write_json(const Shape& shape, const json::value& value, std::string& out) {
  switch (shape.kind) {
    case Kind::structure: return write_json_members(shape, value.get_object(), out);
    case Kind::any: out += json::serialize(value); return;
    case Kind::string: return write_string(value.get_string(), out);
    case Kind::blob: return write_string(base64(value.get_string()), out);
    case Kind::integer:
    case Kind::long_integer: out += concat(value.to_number<std::int64_t>()); return;
    case Kind::time: out += number_text(static_cast<double>(value.to_number<std::int64_t>()) / 1000); return;
    case Kind::real: out += number_text(value.to_number<double>()); return;
    case Kind::boolean: out += value.get_bool() ? "true" : "false"; return;
    case Kind::list: {
      out += '[';
      bool first = true;
      for (const json::value& it : value.get_array()) {
        if (!std::exchange(first, false)) out += ',';
        write_json(*shape.element, it, out);
      }
      out += ']';
      return;
    }
    case Kind::map: {
      out += '{';
      bool first = true;
      for (const auto& [key, it] : value.get_object()) {
        if (!std::exchange(first, false)) out += ',';
        write_string(key, out);
        out += ':';
        write_json(*shape.element, it, out);
      }
      out += '}';
      return;
    }
  }
}

/// Writes elements in one of the two XML dialects.
class XmlWriter {
 public:
  XmlWriter(std::string_view element, bool flat_maps) : element_(element), flat_maps_(flat_maps) {}

  void members(const Shape& shape, const json::object& value) {
    std::size_t written = 0;
    for (const Member& member : shape.members) {
      const json::value* it = value.if_contains(member.name);
      if (it == nullptr) continue;
      ++written;
      if (member.flat && member.shape->kind == Kind::list) {
        elements(*member.shape, *it, member.query_name);
      } else if (member.flat && member.shape->kind == Kind::map) {
        entries(*member.shape, *it, member);
      } else {
        element(*member.shape, *it, member.query_name);
      }
    }
    DROVER_CHECK(written == value.size(), "every member of an output is described");
  }

  std::string out;

 private:
  void element(const Shape& shape, const json::value& value, std::string_view name) {
    out += concat("<", name, ">");
    write(shape, value);
    out += concat("</", name, ">");
  }

  void elements(const Shape& shape, const json::value& value, std::string_view name) {
    for (const json::value& it : value.get_array()) element(*shape.element, it, name);
  }

  void entries(const Shape& shape, const json::value& value, const Member& names) {
    for (const auto& [key, it] : value.get_object()) {
      out += concat("<", names.query_name, "><", names.key_name, ">", xml_text(key), "</", names.key_name, ">");
      element(*shape.element, it, names.value_name);
      out += concat("</", names.query_name, ">");
    }
  }

  void write(const Shape& shape, const json::value& value) {
    switch (shape.kind) {
      case Kind::structure: return members(shape, value.get_object());
      case Kind::list: return elements(shape, value, element_);
      case Kind::map: return entries(shape, value, {.query_name = std::string(flat_maps_ ? element_ : "entry")});
      case Kind::any:
      case Kind::string: out += xml_text(value.get_string()); return;
      case Kind::blob: out += base64(value.get_string()); return;
      case Kind::integer:
      case Kind::long_integer: out += concat(value.to_number<std::int64_t>()); return;
      case Kind::time: out += iso_time(value.to_number<std::int64_t>()); return;
      case Kind::real: out += number_text(value.to_number<double>()); return;
      case Kind::boolean: out += value.get_bool() ? "true" : "false"; return;
    }
  }

  const std::string_view element_;  // the name of a list's elements
  const bool flat_maps_;
};

}  // namespace

std::string json_output(const Shape& output, const json::object& value) {
  std::size_t bytes = 2;
  std::string out;
  for (const auto& [name, it] : value) bytes += name.size() + json_size(it);
  out.reserve(bytes);
  write_json_members(output, value, out);
  return out;
}

std::string query_output(const Operation& operation, const json::object& value, std::string_view xml_namespace,
                         std::string_view request_id) {
  XmlWriter xml("member", false);
  xml.out = concat("<", operation.name, "Response xmlns=\"", xml_namespace, "\">");
  if (!operation.output->members.empty()) {
    xml.out += concat("<", operation.name, "Result>");
    xml.members(*operation.output, value);
    xml.out += concat("</", operation.name, "Result>");
  }
  xml.out += concat("<ResponseMetadata><RequestId>", request_id, "</RequestId></ResponseMetadata></", operation.name,
                    "Response>");
  return std::move(xml.out);
}

std::string ec2_output(const Operation& operation, const json::object& value, std::string_view xml_namespace,
                       std::string_view request_id) {
  XmlWriter xml("item", true);
  xml.out =
      concat("<", operation.name, "Response xmlns=\"", xml_namespace, "\"><requestId>", request_id, "</requestId>");
  xml.members(*operation.output, value);
  xml.out += concat("</", operation.name, "Response>");
  return std::move(xml.out);
}

std::string xml_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\r': out += "&#13;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

}  // namespace drover::aws
