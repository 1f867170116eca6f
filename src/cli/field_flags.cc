#include "cli/field_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "wire/image_reference.h"
#include "wire/json_text.h"

namespace drover {
namespace {

// Help is plain text, without the marks of the documentation.
std::string help_of(const JobField& field) {
  std::string help(field.flag.help.empty() ? field.meaning : field.flag.help);
  std::erase(help, '`');
  return is_repeatable(field) ? help + "; repeatable" : help;
}

Node text_node(const std::string& text) {
  return {.kind = Node::Kind::text, .quoted = true, .text = text};
}

// As people type numbers: .5, 1., 007 and +3 are numbers, too.
Node number_node(const std::string& text) {
  std::string number = text.substr(text.starts_with('+') ? 1 : 0);
  number.erase(0, std::min(number.find_first_not_of('0'), number.size()));
  if (number.empty() || number.starts_with('.')) number.insert(0, "0");
  if (number.ends_with('.')) number.pop_back();
  if (!text.empty() && is_json_number(number)) return {.kind = Node::Kind::number, .quoted = true, .text = number};
  return text_node(text);
}

std::string whole_path(const std::string& path) {
  std::string whole = std::filesystem::absolute(path).lexically_normal();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

/// Whether a source is a path relative to this folder: a plain name that nothing here has is a volume's.
bool is_relative_path(const std::string& source) {
  if (source.empty() || source.starts_with('/')) return false;
  std::error_code ignored;
  return source.starts_with('.') || source.contains('/') || std::filesystem::exists(source, ignored);
}

// "in:/in", "./in:/in" and "data/in:/in", and "oci:images/x:1": the items may run in another folder.
std::string with_whole_path(const JobField& field, const std::string& word) {
  if (field.name == "mounts") {
    const std::size_t colon = word.find(':');
    const bool is_relative = colon != std::string::npos && is_relative_path(word.substr(0, colon));
    return is_relative ? whole_path(word.substr(0, colon)) + word.substr(colon) : word;
  }
  if (field.name != "image") return word;
  const auto reference = ImageReference::parse(word);
  if (!reference || !reference->is_local_path() || reference->path.starts_with('/')) return word;
  const std::size_t path = word.find(':') + 1;
  return word.substr(0, path) + whole_path(reference->path) + word.substr(path + reference->path.size());
}

// As it is typed: {"nvidia": 1} is nvidia=1.
std::string example_of(const JobField& field) {
  const auto example = node_from_json(field.example);
  if (example->is_scalar()) return example->text;
  if (example->kind == Node::Kind::list) return example->items.front().text;
  return fmt::format("{}={}", example->fields.front().name, example->fields.front().value.text);
}

// NAME=VALUE, as often as it was typed.
Result<Node> members_of(const JobField& field, const std::vector<std::string>& words) {
  Node object{.kind = Node::Kind::object};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::bad_input, fmt::format("{} '{}' is not {}", flag_of(field), word, flag_value(field)),
                  fmt::format("write {} {}", flag_of(field), example_of(field)));
    }
    const std::string name = word.substr(0, equals);
    if (object.find(name) != nullptr) {
      return fail(ErrorCode::bad_input, fmt::format("{} has two values for '{}'", flag_of(field), name),
                  "keep one of them");
    }
    const std::string value = word.substr(equals + 1);
    const bool is_count = field.kind == FieldKind::accelerators;
    object.fields.push_back({name, {}, is_count ? number_node(value) : text_node(value)});
  }
  return object;
}

}  // namespace

void FieldFlags::add(const Verb& verb, FlagGroup group) {
  for (const JobField& field : job_fields()) {
    if (field.flag.group != group) continue;
    Typed& typed = typed_.emplace_back();
    typed.field = &field;
    const std::string name = flag_of(field);
    if (field.kind == FieldKind::flag) {
      verb.add_flag(name, typed.flag, help_of(field));
    } else if (is_repeatable(field)) {
      verb.add_option(name, typed.words, help_of(field)).type_name(flag_value(field)).repeatable();
    } else {
      verb.add_option(name, typed.word, help_of(field)).type_name(flag_value(field));
    }
  }
}

bool FieldFlags::any() const {
  return std::ranges::any_of(typed_, [](const Typed& it) { return it.is_typed(); });
}

const std::optional<std::string>& FieldFlags::word(std::string_view field) const {
  static const std::optional<std::string> none;
  const auto it = std::ranges::find(typed_, field, [](const Typed& typed) { return typed.field->name; });
  return it == typed_.end() ? none : it->word;
}

Result<Node> FieldFlags::node_of(const Typed& typed) {
  const JobField& field = *typed.field;
  const std::string one = typed.word.value_or("");
  switch (field.kind) {
    case FieldKind::flag:
      return Node{.kind = Node::Kind::boolean, .text = flag_of(field).starts_with("--no-") ? "false" : "true"};
    case FieldKind::whole:
    case FieldKind::real:
    case FieldKind::time:
    case FieldKind::size: return number_node(one);
    case FieldKind::labels:
    case FieldKind::settings:
    case FieldKind::accelerators: return members_of(field, typed.words);
    case FieldKind::texts: {
      Node list{.kind = Node::Kind::list};
      const bool is_none = field.name == "entrypoint" && typed.words == std::vector<std::string>{""};
      for (const std::string& word : typed.words) {
        if (!is_none) list.items.push_back(text_node(with_whole_path(field, word)));
      }
      return list;
    }
    default: return text_node(with_whole_path(field, one));
  }
}

Result<void> FieldFlags::apply(Submission& job) const {
  Node root{.kind = Node::Kind::object};
  for (const Typed& typed : typed_) {
    if (!typed.is_typed()) continue;
    auto node = node_of(typed);
    if (!node) return pass(node);
    root.fields.push_back({std::string(typed.field->name), {}, std::move(*node)});
  }
  if (root.fields.empty()) return {};
  // The image has changed, and so has what its tag means.
  if (root.find("image") != nullptr && job.definition.container) {
    job.definition.container->digest.clear();
    job.said.erase("image_digest");
  }
  JobReader reader(root, Face::file);
  read_fields(reader, job);
  check_container(reader, job);
  if (!reader.problems().empty()) {
    const JobProblem& problem = reader.problems().front();
    const std::string name = problem.field.substr(0, problem.field.find_first_of(".["));
    const JobField& field = *find_job_field(name);
    return std::unexpected(flag_error(problem, flag_of(field), example_of(field)));
  }
  for (const std::string& name : reader.said()) job.said.insert(name);
  if (job.said.contains("gpus")) job.said.insert("accelerators");
  return {};
}

Error flag_error(const JobProblem& problem, const std::string& flag, const std::string& example) {
  std::string next = problem.next;
  // What to write in a file is not what to type.
  const std::string field = problem.field.substr(0, problem.field.find_first_of(".["));
  const std::size_t in_file = next.find(field + ": ");
  if (next.starts_with("write " + field + ": ")) {
    next.replace(in_file, field.size() + 2, flag + " ");
  } else if (next.empty() || in_file != std::string::npos) {
    next = fmt::format("write, for example, {} {}", flag, example);
  }
  if (next.starts_with("add image:")) next = "add --image NAME, or omit the flag";
  if (next.starts_with("add reuse:")) next = "add --reuse, or omit the flag";
  return {ErrorCode::bad_input, fmt::format("{} {}", flag, problem.what), next};
}

}  // namespace drover
