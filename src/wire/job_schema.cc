#include "wire/job_schema.h"

#include <boost/json.hpp>

#include "base/resources.h"
#include "base/text.h"
#include "core/records.h"
#include "wire/job_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

json::object typed(const char* type) {
  return {{"type", type}};
}

std::string whole_text(std::string_view pattern) {
  return concat("^(", pattern, ")$");
}

json::object counted(std::int64_t least, std::int64_t most) {
  json::object out = typed("integer");
  out["minimum"] = least;
  if (most < std::numeric_limits<std::int64_t>::max()) out["maximum"] = most;
  return out;
}

json::object closed_object(json::object properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

json::object list_of(json::value kind) {
  return {{"type", "array"}, {"items", std::move(kind)}};
}

const json::array kScalars = {"string", "number", "boolean"};

// A text with a unit, or a bare number: of seconds, or of bytes.
json::object measured(std::string_view pattern, json::value least, json::value most, bool zero_is_one) {
  json::object number = {{"type", "number"}, {"minimum", std::move(least)}};
  if (!most.is_null()) number["maximum"] = std::move(most);
  json::array kinds = {json::object{{"type", "string"}, {"pattern", whole_text(pattern)}}, std::move(number)};
  if (zero_is_one) kinds.push_back(json::object{{"enum", json::array{0, "0"}}});
  return {{"anyOf", std::move(kinds)}};
}

json::object shape_of(const JobField& field) {
  json::object text = typed("string");
  text["minLength"] = 1;
  switch (field.kind) {
    case FieldKind::text:
      if (field.pattern.empty()) return text;
      return {{"type", "string"}, {"pattern", whole_text(field.pattern)}};
    case FieldKind::flag: return typed("boolean");
    case FieldKind::whole: return counted(field.least, field.most);
    case FieldKind::real: return {{"type", "number"}, {"minimum", 0.001}, {"maximum", 100'000}};
    case FieldKind::time:
      return measured(kTimePattern, static_cast<double>(field.least) / 1000, field.most / 1000, false);
    case FieldKind::size: return measured(kSizePattern, field.least, nullptr, field.most == 0);
    case FieldKind::choice: {
      json::array words;
      for (const std::string_view word : choices_of(field)) words.emplace_back(word);
      return {{"enum", std::move(words)}};
    }
    case FieldKind::command: {
      json::object words = list_of(json::object{{"type", kScalars}});
      words["minItems"] = 1;
      return {{"anyOf", json::array{std::move(words), std::move(text)}}};
    }
    case FieldKind::settings:
      return {{"type", "object"},
              {"propertyNames", json::object{{"pattern", "^[^=]+$"}}},
              {"additionalProperties", json::object{{"type", kScalars}}}};
    case FieldKind::labels:
      return {{"type", "object"},
              {"propertyNames", json::object{{"pattern", "^[A-Za-z0-9_.\\-]{1,128}$"}}},
              {"additionalProperties", json::object{{"type", "string"}, {"pattern", "^[A-Za-z0-9_.:/+@\\-]{0,128}$"}}}};
    case FieldKind::texts:
      if (field.pattern.empty()) return list_of(json::object{{"type", kScalars}});
      return list_of(json::object{{"type", "string"}, {"pattern", whole_text(field.pattern)}});
    case FieldKind::accelerators: {
      json::object kinds;
      for (const std::string_view kind : kAcceleratorNames) kinds[kind] = counted(field.least, field.most);
      return closed_object(std::move(kinds));
    }
    case FieldKind::after: {
      const json::object job = {{"type", "string"}, {"pattern", "^[A-Za-z0-9_.\\-]{1,128}$"}};
      json::object each = closed_object({{"job", job}, {"each", typed("boolean")}});
      each["required"] = json::array{"job"};
      json::object list = list_of(json::object{{"anyOf", json::array{job, std::move(each)}}});
      list["maxItems"] = field.most;
      return list;
    }
    case FieldKind::rules: {
      json::object parts;
      for (const char* name : {"onExitCode", "onReason", "onStatusReason"}) parts[name] = typed("string");
      parts["action"] = json::object{{"type", "string"}, {"pattern", "^([Rr][Ee][Tt][Rr][Yy]|[Ee][Xx][Ii][Tt])$"}};
      return list_of(closed_object(std::move(parts)));
    }
    case FieldKind::items:
      return {{"anyOf", json::array{list_of(json::object{{"type", kScalars}}), list_of(typed("object"))}}};
    case FieldKind::range: {
      json::object pair = list_of(typed("integer"));
      pair["minItems"] = 2;
      pair["maxItems"] = 2;
      return {
          {"anyOf", json::array{std::move(pair), json::object{{"type", "string"}, {"pattern", "^[0-9]+-[0-9]+$"}}}}};
    }
    case FieldKind::map:
      return {{"type", "object"},
              {"propertyNames", json::object{{"minLength", 1}}},
              {"additionalProperties", std::move(text)}};
  }
  return {};
}

// Two spaces a level; what is short stands on one line.
void write(std::string& out, const json::value& value, std::size_t depth) {
  const std::string flat = json::serialize(value);
  if (flat.size() + depth * 2 <= 100 || !(value.is_object() || value.is_array())) {
    out += flat;
    return;
  }
  const std::string indent(depth * 2 + 2, ' ');
  bool first = true;
  const auto begin_one = [&] { out += concat(std::exchange(first, false) ? "\n" : ",\n", indent); };
  out += value.is_object() ? '{' : '[';
  if (value.is_object()) {
    for (const auto& [name, field] : value.get_object()) {
      begin_one();
      out += concat(json::serialize(json::string_view(name)), ": ");
      write(out, field, depth + 1);
    }
  } else {
    for (const json::value& item : value.get_array()) {
      begin_one();
      write(out, item, depth + 1);
    }
  }
  out += concat("\n", std::string(depth * 2, ' '), value.is_object() ? "}" : "]");
}

}  // namespace

json::array field_kinds(const JobField& field, Face face) {
  json::object kind = shape_of(field);
  json::array kinds = kind.contains("anyOf") ? kind["anyOf"].get_array() : json::array{kind};
  if (face == Face::api || may_be_null(field)) kinds.push_back(typed("null"));
  return kinds;
}

json::object shown_schema(const JobField& field) {
  json::object shape = shape_of(field);
  if (field.kind == FieldKind::time || field.kind == FieldKind::size) shape = counted(field.least, field.most);
  shape.erase("pattern");  // what may be submitted; the server fills some in by itself
  if (field.stored.show(field, JobSpec{}).is_null()) shape["type"] = json::array{shape["type"], "null"};
  shape["description"] = field.meaning;
  return shape;
}

std::string job_schema() {
  json::object properties;
  for (const JobField& field : job_fields()) {
    if (!is_for(field, Face::file)) continue;
    // What is null is not said.
    json::object shape = {{"description", field.meaning}, {"examples", json::array{json::parse(field.example)}}};
    shape["anyOf"] = field_kinds(field, Face::file);
    properties[field.name] = std::move(shape);
  }
  // No two of them; and GPUs are said once.
  json::array too_many;
  const std::vector<std::string_view> sources = {"items", "items_file", "range", "dir", "jsonl"};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::size_t j = i + 1; j < sources.size(); ++j) {
      too_many.push_back(json::object{{"required", json::array{sources[i], sources[j]}}});
    }
  }
  too_many.push_back(
      json::object{{"required", json::array{"gpus", "accelerators"}},
                   {"properties", json::object{{"accelerators", json::object{{"required", json::array{"nvidia"}}}}}}});
  const json::object text_command = {{"properties", json::object{{"command", typed("string")}}},
                                     {"required", json::array{"command"}}};
  const json::object needs_shell = {{"properties", json::object{{"shell", json::object{{"const", true}}}}},
                                    {"required", json::array{"shell"}}};
  const json::object schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                               {"title", "Drover job"},
                               {"description", "Job file for drover submit; described in docs/job-files.md"},
                               {"type", "object"},
                               {"properties", std::move(properties)},
                               {"additionalProperties", false},
                               {"dependencies", json::object{{"match", json::array{"dir"}}}},
                               {"not", json::object{{"anyOf", std::move(too_many)}}},
                               {"if", text_command},
                               {"then", needs_shell}};
  std::string out;
  write(out, schema, 0);
  return out + "\n";
}

}  // namespace drover
