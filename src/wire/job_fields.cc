#include "wire/job_fields.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "wire/fields/sections.h"

namespace drover {

std::span<const JobField> job_fields() {
  static const std::vector<JobField> all = [] {
    std::vector<JobField> fields;
    const auto add = [&](Section section, std::span<const JobField> part) {
      for (JobField field : part) {
        field.section = section;
        fields.push_back(field);
      }
    };
    add(Section::command, command_fields());
    add(Section::items, item_fields());
    add(Section::container, container_fields());
    add(Section::resources, resource_fields());
    add(Section::queueing, queueing_fields());
    add(Section::failures, failure_fields());
    return fields;
  }();
  return all;
}

const JobField* find_job_field(std::string_view name) {
  const auto fields = job_fields();
  const auto it = std::ranges::find(fields, name, &JobField::name);
  return it == fields.end() ? nullptr : &*it;
}

bool is_for(const JobField& field, Face face) {
  return field.face == Face::everywhere || field.face == face;
}

std::string what_it_takes(const JobField& field) {
  switch (field.kind) {
    case FieldKind::text: return std::string(field.holds);
    case FieldKind::flag: return "true or false";
    case FieldKind::whole:
      if (field.most >= kMost32) return concat("a whole number of at least ", field.least);
      return concat("a whole number from ", field.least, " to ", field.most);
    case FieldKind::real: return "a number from 0.001 to 100000";
    case FieldKind::time: return "a duration such as 30s, 10m or 1h30m";
    case FieldKind::size: return "a size such as 512MiB or 4G";
    case FieldKind::choice: {
      std::string words;
      for (const std::string_view word : choices_of(field)) words += concat(words.empty() ? "" : " or ", word);
      return words;
    }
    case FieldKind::command: return "a list of words";
    case FieldKind::settings: return "an object of names and values";
    case FieldKind::labels: return "an object of names and strings";
    case FieldKind::texts: return "a list of strings";
    case FieldKind::accelerators: return "an object of kinds and whole numbers";
    case FieldKind::after: return concat("a list of at most ", field.most, " jobs");
    case FieldKind::rules: return "a list of rules";
    case FieldKind::items: return "a list of strings, or of objects";
    case FieldKind::range: return "the first and the last number";
    case FieldKind::map: return "an object of paths and their replacements";
  }
  return {};
}

bool may_be_null(const JobField& field) {
  return field.name != "image";
}

std::vector<std::string_view> choices_of(const JobField& field) {
  std::vector<std::string_view> words;
  for (std::string_view rest = field.pattern; !rest.empty();) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    words.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

std::string shown_name(const JobField& field) {
  return concat(field.name, field.kind == FieldKind::time ? "_ms" : field.kind == FieldKind::size ? "_bytes" : "");
}

std::string flag_of(const JobField& field) {
  std::string name(field.flag.name);
  if (!name.empty()) return name;
  name = concat("--", field.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

bool is_repeatable(const JobField& field) {
  return field.kind == FieldKind::texts || field.kind == FieldKind::labels || field.kind == FieldKind::settings ||
         field.kind == FieldKind::accelerators;
}

std::string flag_value(const JobField& field) {
  if (!field.flag.value.empty()) return std::string(field.flag.value);
  switch (field.kind) {
    case FieldKind::flag: return {};
    case FieldKind::whole:
    case FieldKind::real: return "N";
    case FieldKind::time: return "TIME";
    case FieldKind::size: return "SIZE";
    case FieldKind::choice: return std::string(field.pattern);
    default: return "TEXT";
  }
}

bool is_source(std::string_view name) {
  static constexpr std::string_view kSources[] = {"items", "items_file", "range", "dir", "jsonl", "manifest", "stream"};
  return std::ranges::find(kSources, name) != std::end(kSources);
}

}  // namespace drover
