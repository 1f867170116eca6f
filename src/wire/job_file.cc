#include "wire/job_file.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/yaml_document.h"

namespace drover {
namespace {

constexpr std::size_t kShownColumns = 100;
constexpr std::size_t kShownProblems = 50;

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (std::uint32_t i = 1; i < number && !text.empty(); ++i)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The line as a terminal can show it, and a mark below the column. Of a long one the part around it.
std::string excerpt(std::string_view line, Position place) {
  std::string shown;
  const std::uint32_t begin = place.column > kShownColumns ? place.column - kShownColumns / 2 : 1;
  std::uint32_t column = 1;
  for (std::size_t at = 0; at < line.size(); ++column) {
    const Utf8Char one = utf8_char(line, at);
    if (column >= begin && column < begin + kShownColumns) {
      if (one.point == '\t') {
        shown += "→";
      } else if (!one.valid || one.point < ' ' || one.point == 0x7f) {
        shown += '?';
      } else {
        shown += line.substr(at, one.length);
      }
    }
    at += one.length;
  }
  const std::string number = concat(place.line);
  const std::string margin(number.size(), ' ');
  return concat("  ", number, " | ", shown, "\n  ", margin, " | ", std::string(place.column - begin, ' '), "^\n");
}

}  // namespace

std::expected<JobFile, std::vector<JobProblem>> read_job_file(std::string_view text, JobNeeds needed) {
  const auto node = node_from_yaml(text);
  if (!node)
    return std::unexpected(std::vector<JobProblem>{{node.error().place, {}, node.error().what, node.error().next}});
  if (node->kind != Node::Kind::object) {
    const bool empty = node->kind == Node::Kind::null;
    return std::unexpected(
        std::vector<JobProblem>{{{std::max(node->place.line, 1U), std::max(node->place.column, 1U)},
                                 {},
                                 empty ? "the file is empty" : "a job must be an object, with one field per line",
                                 "begin with command: [\"./process\", \"{}\"]; docs/job-files.md has examples"}});
  }
  JobFile file;
  JobReader reader(*node, Face::file);
  read_job(reader, needed, file.job);
  file.own_items = reader.has("items") || reader.has("range");
  reader.text("items_file", file.items_file);
  reader.text("dir", file.dir);
  reader.text("match", file.match);
  reader.text("jsonl", file.jsonl);
  reader.map("map", file.map);
  if (reader.has("match") && !reader.has("dir")) {
    reader.complain(*reader.find("match"), "match", "requires 'dir', which is missing",
                    "add dir: PATH, or remove the field");
  }
  std::vector<JobProblem> problems = reader.done();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return file;
}

std::string show_problems(std::string_view path, std::string_view text, const std::vector<JobProblem>& problems) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::string out = concat("drover: ", utf8(path), " has ", plural(problems.size(), "problem"), "\n");
  const std::span shown = std::span(problems).first(std::min(problems.size(), kShownProblems));
  for (const JobProblem& problem : shown) {
    out += concat("\n", utf8(path), ":", problem.place.line, ":", problem.place.column, ": ", problem.message(), "\n");
    out += excerpt(line_of(text, problem.place.line), problem.place);
    if (!problem.next.empty()) out += concat("  next: ", problem.next, "\n");
  }
  if (shown.size() < problems.size()) out += concat("\n… and ", problems.size() - shown.size(), " more\n");
  return out;
}

}  // namespace drover
