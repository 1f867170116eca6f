// Updates what the documentation says of job fields from the table of fields (wire/fields): tables of fields and
// flags, the JSON Schema, and their part of the API's description. With --check it only says which files are stale.
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "base/text.h"
#include "wire/job_fields.h"
#include "wire/job_schema.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr std::pair<std::string_view, Section> kSections[] = {
    {"command", Section::command},     {"items", Section::items},       {"container", Section::container},
    {"resources", Section::resources}, {"queueing", Section::queueing}, {"failures", Section::failures}};
constexpr std::pair<std::string_view, FlagGroup> kGroups[] = {{"limits", FlagGroup::limits},
                                                              {"container", FlagGroup::container},
                                                              {"policy", FlagGroup::policy},
                                                              {"job", FlagGroup::job}};

// Within a cell of a table, also in code, a bar needs a backslash.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string field_table(Section section) {
  std::string out = "| field | for example | |\n|---|---|---|\n";
  for (const JobField& field : job_fields()) {
    if (field.section != section || field.face == Face::api) continue;
    out += concat("| `", field.name, "` | `", cell(field.example), "` | ", cell(field.meaning), " |\n");
  }
  return out;
}

std::string flag_table(FlagGroup group) {
  std::string out = "| option | |\n|---|---|\n";
  for (const JobField& field : job_fields()) {
    if (field.flag.group != group) continue;
    const std::string value = flag_value(field);
    out += concat("| `", flag_of(field), value.empty() ? "" : " ", cell(value), "` | ",
                  cell(field.flag.help.empty() ? field.meaning : field.flag.help),
                  is_repeatable(field) ? "; repeatable" : "", " |\n");
  }
  return out;
}

std::string quoted(std::string_view text) {
  return json::serialize(json::string(text));
}

// YAML takes 0.001, and not JSON's 1E-3, for a number.
std::string yaml(const json::value& value) {
  std::string out;
  if (const json::object* object = value.if_object()) {
    for (const auto& [name, member] : *object) out += concat(out.empty() ? "" : ", ", quoted(name), ": ", yaml(member));
    return concat("{", out, "}");
  }
  if (const json::array* list = value.if_array()) {
    for (const json::value& one : *list) out += concat(out.empty() ? "" : ", ", yaml(one));
    return concat("[", out, "]");
  }
  if (!value.is_double()) return json::serialize(value);
  out = std::to_string(value.get_double());
  out.erase(out.find_last_not_of('0') + 1);
  return out.ends_with('.') ? out + "0" : out;
}

/// What can be submitted.
std::string described_fields(const std::string& indent) {
  std::string out;
  for (const JobField& field : job_fields()) {
    if (!is_for(field, Face::api)) continue;
    out += concat(indent, field.name, ":\n", indent, "  description: ", quoted(field.meaning), "\n", indent,
                  "  examples: [", field.example, "]\n", indent, "  anyOf:\n");
    for (const json::value& kind : field_kinds(field, Face::api)) out += concat(indent, "  - ", yaml(kind), "\n");
  }
  return out;
}

/// What the view of a job has of it.
std::string shown_fields(const std::string& indent) {
  std::string names;
  std::string properties;
  for (const JobField& field : job_fields()) {
    if (field.stored.show == nullptr) continue;
    const std::string name = shown_name(field);
    names += concat(names.empty() ? "" : ", ", name);
    properties += concat(indent, "  ", name, ": ", yaml(shown_schema(field)), "\n");
  }
  return concat(indent, "required: [", names, "]\n", indent, "properties:\n", properties);
}

/// The text with each block that follows a mark replaced. A block ends with the first line that `goes_on` refuses.
std::string rewritten(const std::string& text, const std::function<std::string(std::string_view mark)>& block_for,
                      const std::function<bool(std::string_view line)>& goes_on) {
  std::string out;
  bool is_in_block = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line(text.data() + at, end - at);
    at = end;
    if (is_in_block && goes_on(line)) continue;
    is_in_block = false;
    out += line;
    const std::string block = block_for(line);
    if (block.empty()) continue;
    out += block;
    is_in_block = true;
  }
  return out;
}

std::string page(const std::string& text) {
  const auto block_for = [](std::string_view line) -> std::string {
    for (const auto& [name, section] : kSections) {
      if (line == concat("<!-- job fields: ", name, " -->\n")) return field_table(section);
    }
    for (const auto& [name, group] : kGroups) {
      if (line == concat("<!-- job flags: ", name, " -->\n")) return flag_table(group);
    }
    return {};
  };
  return rewritten(text, block_for, [](std::string_view line) { return line.starts_with('|'); });
}

std::string api_description(const std::string& text) {
  const auto block_for = [](std::string_view line) -> std::string {
    const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    if (line.ends_with("# job fields, from the table\n")) return described_fields(indent);
    if (line.ends_with("# shown job fields, from the table\n")) return shown_fields(indent);
    return {};
  };
  return rewritten(text, block_for, [](std::string_view line) { return !line.ends_with("# end of the table\n"); });
}

int write_docs(const std::string& folder, bool only_check) {
  const std::map<std::string, std::function<std::string(const std::string&)>> files = {
      {"job.schema.json", [](const std::string&) { return job_schema(); }},
      {"job-files.md", page},
      {"cli.md", page},
      {"openapi.yaml", api_description}};
  int stale = 0;
  for (const auto& [name, write] : files) {
    const std::string path = concat(folder, "/", name);
    std::ifstream file(path, std::ios::binary);
    const std::string old(std::istreambuf_iterator<char>(file), {});
    const std::string fresh = write(old);
    if (fresh == old) continue;
    ++stale;
    std::printf("%s %s\n", path.c_str(), only_check ? "is stale: run 'make docs'" : "was updated");
    if (!only_check) std::ofstream(path, std::ios::binary) << fresh;
  }
  return only_check && stale > 0 ? 1 : 0;
}

}  // namespace
}  // namespace drover

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  const bool only_check = !given.empty() && given.front() == "--check";
  if (given.size() != (only_check ? 2U : 1U)) {
    std::fputs("usage: job_docs [--check] DOCS_FOLDER\n", stderr);
    return 2;
  }
  return drover::write_docs(given.back(), only_check);
}
