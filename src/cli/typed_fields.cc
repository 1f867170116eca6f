#include "cli/typed_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace drover {

void TypedFields::text(const char* name, const std::string& value) {
  if (!value.empty()) put(name, text_node(value));
}

void TypedFields::text(const char* name, const std::optional<std::string>& value) {
  if (value) put(name, text_node(*value));
}

void TypedFields::number(const char* name, const std::string& value) {
  if (!value.empty()) put(name, number_node(value));
}

void TypedFields::number(const char* name, const std::optional<std::string>& value) {
  if (value) put(name, number_node(*value));
}

void TypedFields::texts(const char* name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  Node list{.kind = Node::Kind::list};
  for (const std::string& value : values) list.items.push_back(text_node(value));
  put(name, std::move(list));
}

void TypedFields::flag(const char* name, bool typed, bool value) {
  if (typed) put(name, flag_node(value));
}

void TypedFields::put(const char* name, Node value) {
  remove(name);
  root_.fields.push_back({name, {}, std::move(value)});
  said_.insert(name);
}

void TypedFields::remove(const char* name) {
  std::erase_if(root_.fields, [&](const Node::Field& field) { return field.name == name; });
}

Node TypedFields::text_node(const std::string& value) {
  return {.kind = Node::Kind::text, .quoted = true, .text = value};
}

Node TypedFields::number_node(const std::string& value) {
  return {.kind = is_json_number(value) ? Node::Kind::number : Node::Kind::text, .quoted = true, .text = value};
}

Node TypedFields::flag_node(bool value) {
  return {.kind = Node::Kind::boolean, .text = value ? "true" : "false"};
}

std::string field_name(const std::string& path) {
  return path.substr(0, path.find_first_of(".["));
}

std::string flag_name(std::string field) {
  std::ranges::replace(field, '_', '-');
  return "--" + field;
}

Error flag_error(const JobProblem& problem, const std::string& flag, const char* verb) {
  // An example in a file's words would not help here.
  const bool from_file = problem.next.empty() || problem.next.starts_with("write, for example, ");
  return {ErrorCode::bad_input, fmt::format("{} {}", flag, problem.what),
          from_file ? fmt::format("see 'drover {} --help' for {}", verb, flag) : problem.next};
}

}  // namespace drover
