#include "wire/job_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <regex>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/records.h"

namespace drover {
namespace {

constexpr std::size_t kShown = 60;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() > kShown) return out + "…\"";
    const Utf8Char one = utf8_char(text, at);
    if (one.point == '\n') {
      out += "\\n";
    } else if (one.point == '"' || one.point == '\\') {
      out += '\\';
      out += static_cast<char>(one.point);
    } else if (!one.valid || one.point < ' ' || one.point == 0x7f) {
      out += '?';
    } else {
      out += text.substr(at, one.length);
    }
    at += one.length;
  }
  return out + "\"";
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::boolean: return node.text;
    case Node::Kind::number: return concat("the number ", node.text.substr(0, kShown));
    case Node::Kind::text: return concat("the text ", quoted(node.text));
    case Node::Kind::list: return "a list";
    case Node::Kind::object: return "an object";
  }
  return {};
}

bool is_whole(std::string_view text, std::int64_t& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool is_real(std::string_view text, double& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool matches(std::string_view text, std::string_view pattern) {
  // The library's matcher goes one call deeper for each letter.
  if (text.size() > 512) return false;
  return std::regex_match(text.begin(), text.end(), std::regex(pattern.begin(), pattern.end()));
}

/// "10 min" in two: the number and the unit, which is in small letters.
std::pair<std::string, std::string> number_and_unit(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit;
  for (const char c : text.substr(end)) {
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const bool number = matches(text.substr(0, end), "[0-9]+(\\.[0-9]+)?");
  return {number ? std::string(text.substr(0, end)) : "", unit};
}

// "1h30m" is 90m.
std::string in_one_unit(std::string_view text) {
  std::uint64_t seconds = 0;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("dhms");
    const std::uint64_t number = parse_number(text.substr(0, end)).value_or(0);
    const char unit = text[end];
    seconds += number * (unit == 'd' ? 86'400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : 1);
    text.remove_prefix(end + 1);
  }
  return seconds % 60 == 0 ? concat(seconds / 60, "m") : concat(seconds, "s");
}

std::string meant_time(std::string_view text) {
  if (matches(text, "([0-9]{1,6}(d|h|m|s))+")) return concat("write it in one unit: ", in_one_unit(text));
  const auto [number, unit] = number_and_unit(text);
  if (number.empty()) return {};
  if (unit.empty()) return concat("say of what: ", number, "s, ", number, "m or ", number, "h");
  static constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"ms", "ms"}, {"msec", "ms"}, {"millis", "ms"}, {"milliseconds", "ms"}, {"s", "s"},
      {"sec", "s"}, {"secs", "s"},  {"second", "s"},  {"seconds", "s"},       {"m", "m"},
      {"min", "m"}, {"mins", "m"},  {"minute", "m"},  {"minutes", "m"},       {"h", "h"},
      {"hr", "h"},  {"hrs", "h"},   {"hour", "h"},    {"hours", "h"},         {"d", "d"},
      {"day", "d"}, {"days", "d"}};
  const auto* it = std::ranges::find(kUnits, unit, &std::pair<std::string_view, std::string_view>::first);
  return it == std::end(kUnits) ? std::string() : concat("write ", number, it->second);
}

std::string meant_size(std::string_view text) {
  const auto [number, unit] = number_and_unit(text);
  if (number.empty()) return {};
  if (unit.empty()) return concat("say of what: ", number, "MiB or ", number, "GiB; ", number, "B for bytes");
  const std::string_view letters = "kmgt";
  const std::size_t at = letters.find(unit.front());
  static constexpr std::string_view kBinary[] = {"KiB", "MiB", "GiB", "TiB"};
  static constexpr std::string_view kDecimal[] = {"kB", "MB", "GB", "TB"};
  if (at == std::string_view::npos || unit.size() > 3) return {};
  return concat("write ", number, kBinary[at],
                unit.ends_with("ib") || unit == std::string{letters[at], 'i'}
                    ? ""
                    : concat(" (powers of 1024), or ", number, kDecimal[at], " (of 1000)"));
}

bool is_for_shell(std::string_view line) {
  return line.find_first_of("|<>;&$`\"'*?()\n\\") != std::string_view::npos;
}

// "gzip -k {}" as a list of words.
std::string as_list(std::string_view line) {
  std::string out = "[";
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) out += concat(out.size() > 1 ? ", " : "", "\"", utf8(line.substr(at, end - at)), "\"");
    at = end + 1;
  }
  return out + "]";
}

// What {} or {/} is in YAML when it is not in quotes: an object, with one field or none.
std::string placeholder(const Node& node) {
  if (node.kind != Node::Kind::object) return {};
  if (node.fields.empty()) return "{}";
  if (node.fields.size() == 1 && node.fields.front().value.kind == Node::Kind::null) {
    return concat("{", utf8(node.fields.front().name), "}");
  }
  return {};
}

// What a name could be that has signs in it which no name has.
std::string with_dashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    if (good) out += c;
    if (!good && !out.empty() && out.back() != '-') out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  while (out.starts_with('.') || out.starts_with('-')) out.erase(0, 1);
  return out;
}

std::string element(std::string_view path, std::size_t index) {
  return concat(path, "[", index, "]");
}

std::string member(std::string_view path, std::string_view name) {
  return concat(path, path.empty() ? "" : ".", utf8(name));
}

}  // namespace

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
    wrong_kind(node, path, concat("a text: ", takes), next.empty() ? "write one text" : next);
    return false;
  }
  if (node.text.find('\0') != std::string::npos) {
    complain(node, path, "holds a NUL byte, which nothing that is run can be given", "take it out");
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
  if (given.empty()) return complain(*node, name, "is empty", concat("leave it out, or give ", takes));
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
  if (word == "true" || word == "false") next = concat("take the quotes away: ", name, ": ", word);
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
      next = concat("take the quotes away: ", name, ": ", value);
    } else if (node.kind == Node::Kind::text && path == "max_failures" && node.text.ends_with('%')) {
      next = "give a percentage on the command line: --max-failures " + utf8(node.text);
    }
    wrong_kind(node, path, takes, next);
    return false;
  }
  std::int64_t value = 0;
  if (!is_whole(node.text, value)) {
    double real = 0;
    const bool same = is_real(node.text, real) && std::trunc(real) == real && std::abs(real) < 9e15;
    if (!same) {
      complain(node, path, concat("is ", node.text.substr(0, kShown), ", not ", takes), "write it without a fraction");
      return false;
    }
    value = static_cast<std::int64_t>(real);
  }
  if (value < field.least || value > field.most) {
    complain(node, path, concat("is ", value, ", not ", takes),
             value < field.least ? concat("write ", name, ": ", field.least, " or more, or leave it out")
                                 : concat("write ", name, ": ", field.most, " or less"));
    return false;
  }
  out = value;
  return true;
}

void JobReader::real(std::string_view name, std::uint32_t& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const JobField& field = *find_job_field(name);
  double value = 0;
  if (node->kind != Node::Kind::number) {
    const bool number = node->kind == Node::Kind::text && is_real(node->text, value);
    const auto [digits, unit] = number_and_unit(node->text);
    std::string next = concat("write, for example, ", name, ": ", field.example);
    if (number) next = concat("take the quotes away: ", name, ": ", node->text);
    if (unit == "m" && is_real(digits, value)) next = "write thousandths as a fraction: 500m is 0.5";
    return wrong_kind(*node, name, what_it_takes(field), next);
  }
  const auto thousandths = [&] { return static_cast<std::int64_t>(std::lround(value * 1000)); };
  if (!is_real(node->text, value) || !(value >= 0) || value > 1e9 || thousandths() < field.least ||
      thousandths() > field.most) {
    return complain(*node, name, concat("is ", node->text.substr(0, kShown), ", not ", what_it_takes(field)),
                    concat("write, for example, ", name, ": ", field.example));
  }
  out = static_cast<std::uint32_t>(thousandths());
}

void JobReader::time(std::string_view name, std::int64_t& out_ms) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const JobField& field = *find_job_field(name);
  const auto usual = concat("write, for example, ", name, ": ", field.example);
  if (!node->is_scalar() || !matches(node->text, kTimePattern)) {
    const std::string next = meant_time(node->text);
    return wrong_kind(*node, name, what_it_takes(field), next.empty() ? usual : next);
  }
  const auto parsed = parse_duration_ms(node->text);
  if (!parsed || *parsed > field.most)
    return complain(*node, name, concat("is ", quoted(node->text), ", which is too long"), usual);
  if (*parsed < field.least) {
    return complain(*node, name, concat("is ", quoted(node->text), ", which leaves no time at all"),
                    concat("leave it out for no limit, or ", usual));
  }
  out_ms = *parsed;
}

void JobReader::size(std::string_view name, std::uint64_t& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const JobField& field = *find_job_field(name);
  const bool none = field.most == 0;  // whether 0 is one
  const auto usual = concat("write, for example, ", name, ": ", field.example);
  if (none && node->is_scalar() && node->text == "0") {
    out = 0;
    return;
  }
  if (!node->is_scalar() || !matches(node->text, kSizePattern)) {
    const std::string next = meant_size(node->text);
    return wrong_kind(*node, name, what_it_takes(field), next.empty() ? usual : next);
  }
  const auto parsed = parse_size(node->text);
  if (!parsed) return complain(*node, name, concat("is ", quoted(node->text), ", which is too large"), usual);
  if (*parsed < static_cast<std::uint64_t>(field.least) && !(none && *parsed == 0)) {
    const auto least = static_cast<std::uint64_t>(field.least);
    return complain(*node, name,
                    concat("is ", quoted(node->text), ", less than ",
                           least >= (1U << 20) ? concat(least >> 20, "MiB") : concat(least >> 10, "KiB")),
                    usual);
  }
  out = *parsed;
}

void JobReader::command(std::string_view name, std::string_view shell, std::vector<std::string>& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const Node* line = root_.find(shell);
  const bool for_shell =
      line != nullptr && line->kind == Node::Kind::boolean && (line->text[0] == 't' || line->text[0] == 'T');
  if (node->kind == Node::Kind::text) {
    std::string text;
    if (!text_of(*node, name, "a line for the shell", text)) return;
    if (text.find_first_not_of(" \n") == std::string::npos)
      return complain(*node, name, "is empty", "write what to run");
    if (for_shell) {
      out = {text};
      return;
    }
    return wrong_kind(*node, name, "a list of words",
                      is_for_shell(text) ? "add shell: true to have /bin/sh read it, or write a list of words"
                                         : concat("write ", name, ": ", as_list(text), ", or add shell: true"));
  }
  if (!is_list(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  if (node->items.empty()) return complain(*node, name, "is empty", "write what to run: a list of words");
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& word = node->items[i];
    if (word.is_scalar() && word.text.find('\0') == std::string::npos) {
      out.push_back(word.text);
      continue;
    }
    std::string next = "write a word, in quotes if it has signs in it";
    if (!placeholder(word).empty()) {
      next = concat("put the placeholder in quotes: \"", placeholder(word), "\"");
    }
    if (word.kind == Node::Kind::null) next = "write \"\" for an empty word";
    if (word.is_scalar()) {
      complain(word, element(name, i), "holds a NUL byte, which no command line can carry", "take it out");
    } else {
      wrong_kind(word, element(name, i), "a word", next);
    }
  }
}

void JobReader::settings(std::string_view name, std::vector<std::pair<std::string, std::string>>& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  if (node->kind == Node::Kind::list && !node->items.empty() && node->items.front().kind == Node::Kind::text) {
    const std::string& first = node->items.front().text;
    const std::size_t equals = first.find('=');
    if (equals != std::string::npos && equals > 0) {
      return wrong_kind(*node, name, "an object of names and values",
                        concat("write each as NAME: VALUE, without the dash: ", utf8(first.substr(0, equals)), ": ",
                               quoted(first.substr(equals + 1))));
    }
  }
  if (!is_object(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  for (const Node::Field& field : node->fields) {
    const std::string path = member(name, field.name);
    if (field.name.empty() || field.name.find('=') != std::string::npos || field.name.find('\0') != std::string::npos) {
      problems_.push_back(
          {field.place, path, "cannot be the name of a variable", "a name is not empty, and has no '=' in it"});
    } else if (!field.value.is_scalar()) {
      const std::string next =
          field.value.kind == Node::Kind::null ? concat("write ", utf8(field.name), ": \"\" for an empty one")
          : !placeholder(field.value).empty()  ? concat("put it in quotes: \"", placeholder(field.value), "\"")
                                               : "write one text";
      wrong_kind(field.value.kind == Node::Kind::null ? Node{.place = field.place} : field.value, path, "a text", next);
    } else if (field.value.text.find('\0') != std::string::npos) {
      complain(field.value, path, "holds a NUL byte, which no variable can hold", "take it out");
    } else {
      out.emplace_back(field.name, field.value.text);
    }
  }
}

bool JobReader::texts(std::string_view name, std::vector<std::string>& out) {
  const Node* node = find(name);
  if (node == nullptr) return false;
  const JobField& field = *find_job_field(name);
  if (node->is_scalar()) {
    wrong_kind(*node, name, "a list of texts", concat("write ", name, ": [", quoted(node->text), "]"));
    return true;
  }
  if (!is_list(*node, name, concat(name, ": ", field.example))) return true;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& one = node->items[i];
    std::string text;
    if (one.is_scalar() && one.kind != Node::Kind::text) {
      text = one.text;  // a number among words is one
    } else if (!text_of(one, element(name, i), "one of a list", text)) {
      continue;
    }
    out.push_back(std::move(text));
  }
  return true;
}

void JobReader::complain_of_text(std::string_view name, std::size_t index, const Error& error) {
  const Node& list = *root_.find(name);
  const Node& one = index < list.items.size() ? list.items[index] : list;
  complain(one, element(name, index), concat("is ", quoted(one.text), ", which ", error.message), error.next);
}

void JobReader::labels(std::string_view name, Labels& out) {
  const Node* node = find(name);
  if (node == nullptr || !is_object(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  for (const Node::Field& field : node->fields) {
    const std::string path = member(name, field.name);
    std::string value;
    if (!text_of(field.value, path, "a label's value", value)) continue;
    if (!is_valid_label(field.name, value)) {
      complain(field.value, path, concat("is ", quoted(value), ", which cannot be a label"),
               "a name has letters, digits, '_', '.' and '-', a value also ':', '/', '+' and '@'; at most 128 each");
      continue;
    }
    out.emplace(field.name, value);
  }
}

void JobReader::accelerators(std::string_view name, std::string_view short_for_first,
                             std::array<std::uint64_t, 3>& out) {
  if (const Node* node = find(name);
      node != nullptr && is_object(*node, name, concat(name, ": ", find_job_field(name)->example))) {
    for (const Node::Field& field : node->fields) {
      const auto* kind = std::ranges::find(kAcceleratorKinds, field.name);
      if (kind == std::end(kAcceleratorKinds)) {
        const std::string_view near = nearest(field.name, kAcceleratorKinds);
        problems_.push_back({field.place, member(name, field.name), "is no kind of accelerator",
                             near.empty() ? "there are nvidia, amd and neuron" : concat("did you mean '", near, "'?")});
        continue;
      }
      std::int64_t count = 0;
      if (whole_of(field.value, member(name, field.name), *find_job_field(name), count)) {
        out[static_cast<std::size_t>(kind - std::begin(kAcceleratorKinds))] = static_cast<std::uint64_t>(count);
      }
    }
  }
  const Node* given = find(short_for_first);
  if (given == nullptr) return;
  const Node* all = root_.find(name);
  if (all != nullptr && all->find(kAcceleratorKinds[0]) != nullptr) {
    return complain(*given, short_for_first, concat("says the same as '", name, ".", kAcceleratorKinds[0], "'"),
                    "keep one of the two");
  }
  whole(short_for_first, out[0]);
}

void JobReader::rules(std::string_view name, std::vector<ExitRule>& out) {
  const Node* node = find(name);
  if (node == nullptr || !is_list(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  static constexpr std::string_view kParts[] = {"onExitCode", "onReason", "onStatusReason", "action"};
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& one = node->items[i];
    if (!is_object(one, element(name, i), "{onExitCode: \"75\", action: RETRY}")) continue;
    ExitRule rule;
    for (const Node::Field& part : one.fields) {
      const std::string path = member(element(name, i), part.name);
      const auto* known = std::ranges::find(kParts, part.name);
      if (known == std::end(kParts)) {
        const std::string_view near = nearest(part.name, kParts);
        problems_.push_back({part.place, path, "is no part of a rule",
                             near.empty() ? "a rule has onExitCode, onReason, onStatusReason and action"
                                          : concat("did you mean '", near, "'?")});
        continue;
      }
      std::string value;
      if (!text_of(part.value, path, part.name == "action" ? "RETRY or EXIT" : "a pattern that may end in *", value))
        continue;
      if (part.name == "onExitCode") rule.on_exit_code = value;
      if (part.name == "onReason") rule.on_reason = value;
      if (part.name == "onStatusReason") rule.on_status_reason = value;
      if (part.name != "action") continue;
      std::ranges::transform(value, value.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (value != "RETRY" && value != "EXIT") {
        wrong_kind(part.value, path, "RETRY or EXIT", "EXIT gives the item up, RETRY tries it again");
      }
      rule.action = value == "EXIT" ? RuleAction::exit : RuleAction::retry;
    }
    out.push_back(std::move(rule));
  }
}

void JobReader::range(std::string_view name, std::int64_t& first, std::int64_t& last) {
  const Node* node = find(name);
  if (node == nullptr) return;
  constexpr const char* kNext = "write, for example, range: [1, 1000]";
  bool good = false;
  if (node->kind == Node::Kind::list && node->items.size() == 2) {
    good = std::ranges::all_of(node->items, [](const Node& it) { return it.kind == Node::Kind::number; }) &&
           is_whole(node->items[0].text, first) && is_whole(node->items[1].text, last);
  } else if (node->kind == Node::Kind::text) {
    const std::size_t dash = std::min(node->text.find('-'), node->text.size() - (node->text.empty() ? 0 : 1));
    good = !node->text.empty() && node->text[dash] == '-' &&
           std::isdigit(static_cast<unsigned char>(node->text[0])) != 0 && dash + 1 < node->text.size() &&
           std::isdigit(static_cast<unsigned char>(node->text[dash + 1])) != 0 &&
           is_whole(std::string_view(node->text).substr(0, dash), first) &&
           is_whole(std::string_view(node->text).substr(dash + 1), last);
  }
  if (!good) {
    return wrong_kind(*node, name, "the first and the last number",
                      node->kind == Node::Kind::number ? concat("write range: [1, ", node->text, "]") : kNext);
  }
  if (first > last) {
    return complain(*node, name, concat("ends with ", last, ", before it begins with ", first),
                    concat("write the smaller first: range: [", last, ", ", first, "]"));
  }
  if (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) >= kMostItems) {
    complain(*node, name, concat("is more than ", format_count(kMostItems), " items"), "split it into several jobs");
  }
}

bool JobReader::items(std::string_view name, std::vector<std::string>& out) {
  const Node* node = find(name);
  if (node == nullptr) return false;
  if (node->kind == Node::Kind::text && face_ == Face::file) {
    wrong_kind(*node, name, "a list",
               concat("if it is a file with an item a line, write items_file: ", utf8(node->text)));
    return false;
  }
  if (!is_list(*node, name, concat(name, ": ", find_job_field(name)->example))) return false;
  std::size_t objects = 0;
  out.reserve(node->items.size());
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& item = node->items[i];
    if (item.kind == Node::Kind::object) {
      ++objects;
      out.push_back(node_to_json(item));
    } else if (item.is_scalar()) {
      if (item.text.find('\0') != std::string::npos) {
        complain(item, element(name, i), "holds a NUL byte, which no command line can carry", "take it out");
      }
      out.push_back(item.text);
    } else {
      wrong_kind(item, element(name, i), "a text or an object",
                 item.kind == Node::Kind::null ? "write \"\" for an empty text" : "a list of items has no lists in it");
    }
  }
  if (objects > 0 && objects < node->items.size()) {
    const bool first_is_object = node->items.front().kind == Node::Kind::object;
    const auto odd = std::ranges::find_if(
        node->items, [&](const Node& it) { return (it.kind == Node::Kind::object) != first_is_object; });
    complain(*odd, element(name, static_cast<std::size_t>(odd - node->items.begin())),
             concat("is ", shown(*odd), ", so that '", name, "' has both texts and objects"),
             "make them all of one kind");
  }
  return objects > 0;
}

void JobReader::after(std::string_view name, std::vector<std::pair<std::string, bool>>& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const JobField& field = *find_job_field(name);
  if (node->kind == Node::Kind::text) {
    return wrong_kind(*node, name, "a list", concat("write ", name, ": [", quoted(node->text), "]"));
  }
  if (!is_list(*node, name, concat(name, ": ", field.example))) return;
  if (node->items.size() > static_cast<std::size_t>(field.most)) {
    return complain(*node, name, concat("names ", node->items.size(), " jobs, more than ", field.most),
                    "let a job wait for another that waits for some of them");
  }
  constexpr const char* kTakes = "a job's id, the beginning of one, or its name";
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& one = node->items[i];
    const std::string path = element(name, i);
    const Node* job = &one;
    bool each = false;
    std::string job_path = path;
    if (one.kind == Node::Kind::object) {
      job = one.find("job");
      job_path = path + ".job";
      for (const Node::Field& part : one.fields) {
        if (part.name == "each" && part.value.kind == Node::Kind::boolean) {
          each = part.value.text.front() == 't' || part.value.text.front() == 'T';
        } else if (part.name == "each") {
          wrong_kind(part.value, path + ".each", "true or false", "write each: true");
        } else if (part.name != "job") {
          problems_.push_back({part.place, member(path, part.name), "is no part of what a job waits for",
                               "it has 'job', and 'each' for item to item"});
        }
      }
      if (job == nullptr) {
        complain(one, path, "does not say which job", "write {job: NAME, each: true}");
        continue;
      }
    }
    std::string reference;
    if (!text_of(*job, job_path, kTakes, reference)) continue;
    if (!matches(reference, "[A-Za-z0-9_.\\-]{1,128}")) {
      complain(*job, job_path, concat("is ", quoted(reference), ", which names no job"), concat("it takes ", kTakes));
      continue;
    }
    out.emplace_back(std::move(reference), each);
  }
}

void JobReader::map(std::string_view name, std::vector<std::pair<std::string, std::string>>& out) {
  const Node* node = find(name);
  if (node == nullptr || !is_object(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  for (const Node::Field& field : node->fields) {
    const std::string path = member(name, field.name);
    std::string to;
    if (field.name.find_first_not_of('/') == std::string::npos && field.name != "/") {
      problems_.push_back({field.place, path, "is no path", "write the beginning of items, such as /mnt/data"});
    } else if (text_of(field.value, path, "what the path becomes", to)) {
      if (to.empty()) {
        complain(field.value, path, "is empty", "write what the path becomes, such as s3://bucket/data");
      } else {
        out.emplace_back(field.name, to);
      }
    }
  }
}

void JobReader::find_doubles(const Node& node, const std::string& path) {
  std::map<std::string_view, Place> seen;
  for (const Node::Field& field : node.fields) {
    const auto [it, fresh] = seen.emplace(field.name, field.place);
    if (!fresh) {
      problems_.push_back(
          {field.place, member(path, field.name),
           it->second.line == 0 ? "is there twice" : concat("is there twice: first in line ", it->second.line),
           "keep one of them"});
    }
    find_doubles(field.value, member(path, field.name));
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (!node.items[i].is_scalar()) find_doubles(node.items[i], element(path, i));
  }
}

void JobReader::find_unknown() {
  for (const Node::Field& field : root_.fields) {
    if (is_known(field.name)) continue;
    const JobField* elsewhere = find_job_field(field.name);
    const JobField* meant = find_job_field(meant_field(field.name));
    std::string what = "is not known";
    std::string next = concat("docs/", face_ == Face::api ? "api.md" : "job-files.md", " lists the fields of a job");
    if (elsewhere != nullptr) {
      what = elsewhere->face == Face::file ? "is for job files only" : "is for the API only";
      next = elsewhere->face == Face::file ? "give items, range or manifest"
                                           : "give items, items_file, range, dir or jsonl";
    } else if (meant != nullptr && is_for(*meant, face_)) {
      next = concat("did you mean '", meant->name, "'? For example, ", meant->name, ": ", meant->example);
    } else if (field.name == "container") {
      next = "name the container's image in 'image'; docs/containers.md lists what else can be said of it";
    }
    problems_.push_back({field.place, utf8(field.name), what, next});
  }
}

std::vector<JobProblem> JobReader::done() {
  for (const JobField& field : job_fields())
    DROVER_CHECK(asked_.contains(field.name), "every field of the table is read");
  find_unknown();
  find_doubles(root_, {});
  std::multimap<Place, JobProblem> in_order;  // those of one place as they came
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
