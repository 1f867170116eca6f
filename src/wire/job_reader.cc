#include "wire/job_reader.h"

#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/value_words.h"

namespace drover {
std::string JobProblem::message() const {
  return field.empty() ? what : concat("field '", field, "' ", what);
}

const Node* JobReader::find(std::string_view name) {
  asked_.emplace(name);
  const JobField* field = find_job_field(name);
  DROVER_CHECK(field != nullptr, "every field is in the table");
  if (!is_for(*field, face_)) return nullptr;
  const Node* node = root_.find(name);
  return node == nullptr || node->kind == Node::Kind::null ? nullptr : node;
}

bool JobReader::is_known(std::string_view name) const {
  const JobField* field = find_job_field(name);
  return field != nullptr && is_for(*field, face_);
}

bool JobReader::has(std::string_view name) const {
  const Node* node = root_.find(name);
  return is_known(name) && node != nullptr && node->kind != Node::Kind::null;
}

void JobReader::complain(const Node& at, std::string_view path, std::string what, std::string next) {
  problems_.push_back({at.place, std::string(path), std::move(what), std::move(next)});
}

void JobReader::complain(std::string what, std::string next) {
  problems_.push_back({root_.place, {}, std::move(what), std::move(next)});
}

void JobReader::missing(std::string_view name, std::string what, std::string next) {
  // It is there, under another name, and that is told.
  for (const Node::Field& field : root_.fields) {
    const std::string_view meant = is_known(field.name) ? std::string_view() : meant_field(field.name);
    if (meant == name || (name == "items" && is_source(meant.empty() ? field.name : meant))) return;
  }
  problems_.push_back({root_.place, std::string(name), std::move(what), std::move(next)});
}

void JobReader::wrong_kind(const Node& node, std::string_view path, std::string_view takes, std::string next) {
  complain(node, path, concat("is ", shown(node), ", not ", takes), std::move(next));
}

bool JobReader::text_of(const Node& node, std::string_view path, std::string_view takes, std::string& out) {
  if (node.kind != Node::Kind::text) {
    const std::string next = node.is_scalar() ? concat("put it in quotes: \"", node.text, "\"") : "";
    wrong_kind(node, path, concat("a string: ", takes), next.empty() ? "write one string" : next);
    return false;
  }
  if (node.text.find('\0') != std::string::npos) {
    complain(node, path, "contains a NUL byte, which cannot be passed to a command", "remove it");
    return false;
  }
  out = node.text;
  return true;
}

bool JobReader::is_object(const Node& node, std::string_view path, std::string_view example) {
  if (node.kind == Node::Kind::object) return true;
  wrong_kind(node, path, "an object", concat("write, for example, ", example));
  return false;
}

bool JobReader::is_list(const Node& node, std::string_view path, std::string_view example) {
  if (node.kind == Node::Kind::list) return true;
  wrong_kind(node, path, "a list", concat("write, for example, ", example));
  return false;
}

void JobReader::text(std::string_view name, std::string& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const JobField& field = *find_job_field(name);
  const std::string takes = what_it_takes(field);
  std::string given;
  if (!text_of(*node, name, takes, given)) return;
  if (given.empty()) return complain(*node, name, "is empty", concat("omit it, or set it to ", takes));
  if (!field.pattern.empty() && !matches(given, field.pattern)) {
    const bool revised = name == "definition";  // a colon belongs to it
    const std::string near = with_dashes(revised ? given.substr(0, given.find(':')) : given);
    return wrong_kind(
        *node, name, takes,
        concat("write, for example, ", name, ": ", matches(near, field.pattern) ? near : std::string(field.example)));
  }
  out = std::move(given);
}

void JobReader::flag(std::string_view name, bool& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  if (node->kind == Node::Kind::boolean) {
    out = node->text.front() == 't' || node->text.front() == 'T';
    return;
  }
  std::string word;
  for (const char c : node->text) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string next = "write true or false";
  if (word == "yes" || word == "on" || word == "y" || word == "1") next = concat("write ", name, ": true");
  if (word == "no" || word == "off" || word == "n" || word == "0") next = concat("write ", name, ": false");
  if (word == "true" || word == "false") next = concat("remove the quotes: ", name, ": ", word);
  wrong_kind(*node, name, "true or false", next);
}

bool JobReader::whole_of(const Node& node, std::string_view path, const JobField& field, std::int64_t& out) {
  const std::string takes = field.kind == FieldKind::whole
                                ? what_it_takes(field)
                                : concat("a whole number from ", field.least, " to ", field.most);
  const std::size_t dot = path.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
  if (node.kind != Node::Kind::number) {
    std::int64_t value = 0;
    std::string next = concat("write, for example, ", name, ": ", field.kind == FieldKind::whole ? field.example : "1");
    if (node.kind == Node::Kind::text && is_whole(node.text, value)) {
      next = concat("remove the quotes: ", name, ": ", value);
    } else if (node.kind == Node::Kind::text && path == "max_failures" && node.text.ends_with('%')) {
      next = "set a percentage on the command line: --max-failures " + utf8(node.text);
    }
    wrong_kind(node, path, takes, next);
    return false;
  }
  std::int64_t value = 0;
  if (!is_whole(node.text, value)) {
    double real = 0;
    const bool same = is_real(node.text, real) && std::trunc(real) == real && std::abs(real) < 9e15;
    if (!same) {
      complain(node, path, concat("is ", node.text.substr(0, kMostShown), ", not ", takes),
               "write it without a fraction");
      return false;
    }
    value = static_cast<std::int64_t>(real);
  }
  if (value < field.least || value > field.most) {
    complain(node, path, concat("is ", value, ", not ", takes),
             value < field.least ? concat("write ", name, ": ", field.least, " or more, or omit it")
                                 : concat("write ", name, ": ", field.most, " or less"));
    return false;
  }
  out = value;
  return true;
}

void JobReader::measure(const JobField& field, std::int64_t& out) {
  const Node* node = find(field.name);
  if (node == nullptr) return;
  if (field.kind == FieldKind::real) real_of(*node, field, out);
  if (field.kind == FieldKind::time) time_of(*node, field, out);
  if (field.kind == FieldKind::size) size_of(*node, field, out);
}

void JobReader::real_of(const Node& node, const JobField& field, std::int64_t& out) {
  const std::string_view name = field.name;
  double value = 0;
  if (node.kind != Node::Kind::number) {
    const bool number = node.kind == Node::Kind::text && is_real(node.text, value);
    const auto [digits, unit] = number_and_unit(node.text);
    std::string next = concat("write, for example, ", name, ": ", field.example);
    if (number) next = concat("remove the quotes: ", name, ": ", node.text);
    if (unit == "m" && is_real(digits, value)) next = "write a decimal fraction: 500m is 0.5";
    return wrong_kind(node, name, what_it_takes(field), next);
  }
  const auto thousandths = [&] { return static_cast<std::int64_t>(std::lround(value * 1000)); };
  if (!is_real(node.text, value) || !(value >= 0) || value > 1e9 || thousandths() < field.least ||
      thousandths() > field.most) {
    return complain(node, name, concat("is ", node.text.substr(0, kMostShown), ", not ", what_it_takes(field)),
                    concat("write, for example, ", name, ": ", field.example));
  }
  out = thousandths();
}

void JobReader::time_of(const Node& node, const JobField& field, std::int64_t& out) {
  const std::string_view name = field.name;
  const auto usual = concat("write, for example, ", name, ": ", field.example);
  const bool is_number = node.kind == Node::Kind::number && matches(node.text, kNumberPattern);
  if (!is_number && (!node.is_scalar() || !matches(node.text, kTimePattern))) {
    const std::string next = meant_time(node.text);
    return wrong_kind(node, name, what_it_takes(field), next.empty() ? usual : next);
  }
  const auto parsed = parse_duration_ms(node.text);
  if (!parsed || *parsed > field.most)
    return complain(node, name, concat("is ", quoted(node.text), ", which is too long"), usual);
  if (*parsed < field.least) {
    return complain(node, name, concat("is ", quoted(node.text), ", which allows no time"),
                    concat("omit it for no limit, or ", usual));
  }
  out = *parsed;
}

void JobReader::size_of(const Node& node, const JobField& field, std::int64_t& out) {
  const std::string_view name = field.name;
  const bool none = field.most == 0;  // whether 0 is one
  const auto usual = concat("write, for example, ", name, ": ", field.example);
  if (none && node.is_scalar() && node.text == "0") {
    out = 0;
    return;
  }
  const bool is_number = node.kind == Node::Kind::number && matches(node.text, kNumberPattern);
  if (!is_number && (!node.is_scalar() || !matches(node.text, kSizePattern))) {
    const std::string next = meant_size(node.text);
    return wrong_kind(node, name, what_it_takes(field), next.empty() ? usual : next);
  }
  const auto parsed = parse_size(node.text);
  if (!parsed) return complain(node, name, concat("is ", quoted(node.text), ", which is too large"), usual);
  if (*parsed < static_cast<std::uint64_t>(field.least) && !(none && *parsed == 0)) {
    const auto least = static_cast<std::uint64_t>(field.least);
    return complain(
        node, name,
        concat("is ", quoted(node.text), ", less than ",
               least >= (1U << 20) ? concat(least >> 20, "MiB") : concat(least >> 10, "KiB")),
        is_number ? concat("a number without a unit is in bytes; write, for example, ", node.text, "MiB") : usual);
  }
  out = static_cast<std::int64_t>(*parsed);
}

void JobReader::find_nulls() {
  for (const Node::Field& field : root_.fields) {
    const JobField* known = find_job_field(field.name);
    if (field.value.kind != Node::Kind::null || known == nullptr || may_be_null(*known)) continue;
    problems_.push_back(
        {field.place, field.name, "has no value", concat("remove it, or set it to ", what_it_takes(*known))});
  }
}

void JobReader::find_doubles() {
  for (RepeatedField& it : repeated_fields(root_)) {
    problems_.push_back({it.place, std::move(it.path),
                         it.first.line == 0 ? "appears twice" : concat("appears twice: first on line ", it.first.line),
                         "keep one of them"});
  }
}

void JobReader::find_unknown() {
  for (const Node::Field& field : root_.fields) {
    if (is_known(field.name)) continue;
    const JobField* elsewhere = find_job_field(field.name);
    const JobField* meant = find_job_field(meant_field(field.name));
    std::string what = "is unknown";
    std::string next = concat("docs/", face_ == Face::api ? "api.md" : "job-files.md", " lists the fields of a job");
    if (elsewhere != nullptr) {
      what = elsewhere->face == Face::file ? "is only valid in job files" : "is only valid in the API";
      next =
          elsewhere->face == Face::file ? "use items, range or manifest" : "use items, items_file, range, dir or jsonl";
    } else if (meant != nullptr && is_for(*meant, face_)) {
      next = concat("did you mean '", meant->name, "'? For example, ", meant->name, ": ", meant->example);
    } else if (field.name == "container") {
      next = "set 'image' to the container's image; docs/containers.md lists the other container fields";
    }
    problems_.push_back({field.place, utf8(field.name), what, next});
  }
}

std::vector<JobProblem> JobReader::done() {
  for (const JobField& field : job_fields())
    DROVER_CHECK(asked_.contains(field.name), "every field of the table is read");
  find_unknown();
  if (face_ == Face::file) find_nulls();
  find_doubles();
  std::multimap<Position, JobProblem> in_order;  // those of one place as they came
  for (JobProblem& problem : problems_) in_order.emplace(problem.place, std::move(problem));
  std::vector<JobProblem> out;
  for (auto& [place, problem] : in_order) out.push_back(std::move(problem));
  return out;
}

std::set<std::string, std::less<>> JobReader::said() const {
  std::set<std::string, std::less<>> names;
  for (const Node::Field& field : root_.fields) {
    if (has(field.name)) names.insert(field.name);
  }
  return names;
}

}  // namespace drover
