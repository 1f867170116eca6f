// The fields of a job that hold several things: lists and objects.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/records.h"
#include "wire/job_reader.h"
#include "wire/value_words.h"

namespace drover {
namespace {

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

}  // namespace

void JobReader::command(std::string_view name, std::string_view shell, std::vector<std::string>& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const Node* line = root_.find(shell);
  const bool for_shell =
      line != nullptr && line->kind == Node::Kind::boolean && (line->text[0] == 't' || line->text[0] == 'T');
  if (node->kind == Node::Kind::text) {
    std::string text;
    if (!text_of(*node, name, "a shell command line", text)) return;
    if (text.find_first_not_of(" \n") == std::string::npos)
      return complain(*node, name, "is empty", "write the command to run");
    if (for_shell) {
      out = {text};
      return;
    }
    return wrong_kind(*node, name, "a list of words",
                      is_for_shell(text) ? "add shell: true to run it with /bin/sh, or write a list of words"
                                         : concat("write ", name, ": ", as_list(text), ", or add shell: true"));
  }
  if (!is_list(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  if (node->items.empty()) return complain(*node, name, "is empty", "write the command as a list of words");
  out.clear();
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& word = node->items[i];
    if (word.is_scalar() && word.text.find('\0') == std::string::npos) {
      out.push_back(word.text);
      continue;
    }
    std::string next = "write a word, in quotes if it contains special characters";
    if (!placeholder(word).empty()) {
      next = concat("put the placeholder in quotes: \"", placeholder(word), "\"");
    }
    if (word.kind == Node::Kind::null) next = "write \"\" for an empty word";
    if (word.is_scalar()) {
      complain(word, element(name, i), "contains a NUL byte, which a command line cannot contain", "remove it");
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
          {field.place, path, "is not a valid variable name", "a name must not be empty or contain '='"});
    } else if (!field.value.is_scalar()) {
      const std::string next =
          field.value.kind == Node::Kind::null ? concat("write ", utf8(field.name), ": \"\" for an empty value")
          : !placeholder(field.value).empty()  ? concat("put it in quotes: \"", placeholder(field.value), "\"")
                                               : "write one string";
      wrong_kind(field.value.kind == Node::Kind::null ? Node{.place = field.place} : field.value, path, "a string",
                 next);
    } else if (field.value.text.find('\0') != std::string::npos) {
      complain(field.value, path, "contains a NUL byte, which a variable cannot contain", "remove it");
    } else {
      std::erase_if(out, [&](const auto& it) { return it.first == field.name; });
      out.emplace_back(field.name, field.value.text);
    }
  }
}

bool JobReader::texts(std::string_view name, std::vector<std::string>& out) {
  const Node* node = find(name);
  if (node == nullptr) return false;
  const JobField& field = *find_job_field(name);
  if (node->is_scalar()) {
    wrong_kind(*node, name, "a list of strings", concat("write ", name, ": [", quoted(node->text), "]"));
    return true;
  }
  if (!is_list(*node, name, concat(name, ": ", field.example))) return true;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& one = node->items[i];
    std::string text;
    if (one.is_scalar() && one.kind != Node::Kind::text) {
      text = one.text;  // a number among words is one
    } else if (!text_of(one, element(name, i), "an element of a list", text)) {
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
      complain(
          field.value, path, concat("is ", quoted(value), ", which is not a valid label"),
          "names use letters, digits, '_', '.' and '-', values also ':', '/', '+' and '@'; at most 128 characters");
      continue;
    }
    out.insert_or_assign(field.name, value);
  }
}

void JobReader::accelerators(std::string_view name, std::array<std::uint64_t, kAccelerators>& out) {
  const Node* node = find(name);
  if (node == nullptr || !is_object(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  for (const Node::Field& field : node->fields) {
    const auto* kind = std::ranges::find(kAcceleratorNames, field.name);
    if (kind == kAcceleratorNames.end()) {
      const std::string_view near = nearest(field.name, kAcceleratorNames);
      problems_.push_back({field.place, member(name, field.name), "is not a known accelerator",
                           near.empty() ? "use nvidia, amd or neuron" : concat("did you mean '", near, "'?")});
      continue;
    }
    std::int64_t count = 0;
    if (whole_of(field.value, member(name, field.name), *find_job_field(name), count)) {
      out[static_cast<std::size_t>(kind - kAcceleratorNames.begin())] = static_cast<std::uint64_t>(count);
    }
  }
}

void JobReader::rules(std::string_view name, std::vector<ExitRule>& out) {
  const Node* node = find(name);
  if (node == nullptr || !is_list(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  out.clear();
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
        problems_.push_back({part.place, path, "is not a field of a rule",
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
        wrong_kind(part.value, path, "RETRY or EXIT", "EXIT fails the item, RETRY retries it");
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
    return complain(*node, name, concat("ends with ", last, ", which is less than its first number, ", first),
                    concat("write the smaller first: range: [", last, ", ", first, "]"));
  }
  if (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) >= kMostItems) {
    complain(*node, name, concat("has more than ", format_count(kMostItems), " items"), "split it into several jobs");
  }
}

bool JobReader::items(std::string_view name, std::vector<std::string>& out) {
  const Node* node = find(name);
  if (node == nullptr) return false;
  if (node->kind == Node::Kind::text && face_ == Face::file) {
    wrong_kind(*node, name, "a list",
               concat("if it is a file with one item per line, write items_file: ", utf8(node->text)));
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
        complain(item, element(name, i), "contains a NUL byte, which a command line cannot contain", "remove it");
      }
      out.push_back(item.text);
    } else {
      wrong_kind(
          item, element(name, i), "a string or an object",
          item.kind == Node::Kind::null ? "write \"\" for an empty string" : "a list of items cannot contain lists");
    }
  }
  if (objects > 0 && objects < node->items.size()) {
    const bool first_is_object = node->items.front().kind == Node::Kind::object;
    const auto odd = std::ranges::find_if(
        node->items, [&](const Node& it) { return (it.kind == Node::Kind::object) != first_is_object; });
    complain(*odd, element(name, static_cast<std::size_t>(odd - node->items.begin())),
             concat("is ", shown(*odd), ", but '", name, "' cannot contain both strings and objects"),
             "use only one kind");
  }
  return objects > 0;
}

void JobReader::after(std::string_view name, std::vector<After>& out) {
  const Node* node = find(name);
  if (node == nullptr) return;
  const JobField& field = *find_job_field(name);
  if (node->kind == Node::Kind::text) {
    return wrong_kind(*node, name, "a list", concat("write ", name, ": [", quoted(node->text), "]"));
  }
  if (!is_list(*node, name, concat(name, ": ", field.example))) return;
  if (node->items.size() > static_cast<std::size_t>(field.most)) {
    return complain(*node, name, concat("names ", node->items.size(), " jobs, more than ", field.most),
                    "make it depend on a job that depends on some of them");
  }
  out.clear();
  constexpr const char* kTakes = "a job's id, a prefix of it, or its name";
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
          problems_.push_back({part.place, member(path, part.name), "is not a field of a dependency",
                               "use 'job', and 'each' for item-by-item dependencies"});
        }
      }
      if (job == nullptr) {
        complain(one, path, "has no 'job'", "write {job: NAME, each: true}");
        continue;
      }
    }
    std::string reference;
    if (!text_of(*job, job_path, kTakes, reference)) continue;
    if (!matches(reference, "[A-Za-z0-9_.\\-]{1,128}")) {
      complain(*job, job_path, concat("is ", quoted(reference), ", which is not a valid job reference"),
               concat("use ", kTakes));
      continue;
    }
    out.push_back({std::move(reference), each});
  }
}

void JobReader::map(std::string_view name, std::vector<std::pair<std::string, std::string>>& out) {
  const Node* node = find(name);
  if (node == nullptr || !is_object(*node, name, concat(name, ": ", find_job_field(name)->example))) return;
  for (const Node::Field& field : node->fields) {
    const std::string path = member(name, field.name);
    std::string to;
    if (field.name.find_first_not_of('/') == std::string::npos && field.name != "/") {
      problems_.push_back({field.place, path, "is not a path", "write the prefix to replace, such as /mnt/data"});
    } else if (text_of(field.value, path, "the replacement of the path", to)) {
      if (to.empty()) {
        complain(field.value, path, "is empty", "write the replacement, such as s3://bucket/data");
      } else {
        out.emplace_back(field.name, to);
      }
    }
  }
}

}  // namespace drover
