#include "worker/command_template.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "base/text.h"
#include "wire/json_fields.h"

namespace drover {
namespace {

std::string_view without_extension(std::string_view text) {
  const std::size_t dot = text.find_last_of("./");
  if (dot == std::string_view::npos || text[dot] == '/') return text;
  return text.substr(0, dot);
}

std::string_view base_name(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

// As dirname(1): trailing slashes do not count, and a name without a slash is in ".".
std::string_view directory_name(std::string_view text) {
  const std::size_t last = text.find_last_not_of('/');
  if (last == std::string_view::npos) return text.empty() ? "." : "/";
  const std::size_t slash = text.rfind('/', last);
  if (slash == std::string_view::npos) return ".";
  const std::size_t end = text.find_last_not_of('/', slash);
  return end == std::string_view::npos ? "/" : text.substr(0, end + 1);
}

/// A placeholder of GNU parallel that Drover does not have: {1}, {2.}, {-1}, {%}, {..}, {+/}; empty: none. Behind
/// what a regular expression can repeat, as in [0-9]{4}, a number is a repetition.
std::string unknown_placeholder(std::string_view word) {
  for (std::size_t open = word.find('{'); open != std::string_view::npos; open = word.find('{', open + 1)) {
    const std::size_t close = word.find('}', open);
    if (close == std::string_view::npos) return {};
    std::string_view name = word.substr(open + 1, close - open - 1);
    const std::string whole(word.substr(open, close - open + 1));
    if (name == "%" || name == ".." || name == "..." || name.starts_with('+')) return whole;
    if (name.starts_with('-')) name.remove_prefix(1);
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    const std::string_view rest = name.substr(digits);
    const bool is_numbered = digits > 0 && (rest.empty() || rest == "." || rest == "/" || rest == "//" || rest == "/.");
    const char before = open == 0 ? ' ' : word[open - 1];
    const bool is_repetition = rest.empty() && (std::isalnum(static_cast<unsigned char>(before)) != 0 ||
                                                std::strchr("])).\\$", before) != nullptr);
    if (is_numbered && !is_repetition) return whole;
  }
  return {};
}

}  // namespace

std::string shell_quote(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

Result<CommandTemplate> CommandTemplate::parse(const Definition& definition, const std::vector<std::string>& before) {
  if (definition.command.empty() && before.empty()) {
    return fail(ErrorCode::bad_input, "no command given", "write it after --: drover run --items list.txt -- gzip {}");
  }
  CommandTemplate out;
  out.shell_ = definition.shell;
  out.json_ = definition.items == ItemKind::json;
  for (const std::string& word : before) out.words_.push_back({Piece{Kind::text, word}});
  if (definition.literal) {
    for (const std::string& word : definition.command) out.words_.push_back({Piece{Kind::text, word}});
    return out;
  }
  for (const std::string& word : definition.command) {
    if (const std::string unknown = unknown_placeholder(word); !unknown.empty() && !out.json_) {
      return fail(ErrorCode::bad_input, concat("unknown placeholder ", unknown, " in the command"),
                  "placeholders are {} {.} {/} {//} {/.} and {#}; fields such as {name} need --jsonl");
    }
    out.words_.push_back(out.parse_word(word));
  }
  if (!out.any_placeholder_) out.words_.push_back({Piece{Kind::item, {}}});
  return out;
}

CommandTemplate::Word CommandTemplate::parse_word(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Kind>, 6> kNames = {{{"", Kind::item},
                                                                               {".", Kind::no_extension},
                                                                               {"/", Kind::base},
                                                                               {"//", Kind::directory},
                                                                               {"/.", Kind::base_no_extension},
                                                                               {"#", Kind::number}}};
  Word pieces;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) pieces.push_back({Kind::text, std::exchange(literal, {})});
  };
  const auto is_field_name = [](std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
    });
  };
  while (!word.empty()) {
    const std::size_t close = word.front() == '{' ? word.find('}') : std::string_view::npos;
    if (close == std::string_view::npos) {
      literal += word.front();
      word.remove_prefix(1);
      continue;
    }
    const std::string_view name = word.substr(1, close - 1);
    const auto* known = std::ranges::find(kNames, name, &std::pair<std::string_view, Kind>::first);
    if (known != kNames.end()) {
      flush();
      pieces.push_back({known->second, {}});
    } else if (json_ && is_field_name(name)) {
      flush();
      pieces.push_back({Kind::field, std::string(name)});
    } else {
      literal += '{';
      word.remove_prefix(1);
      continue;
    }
    any_placeholder_ = true;
    word.remove_prefix(close + 1);
  }
  flush();
  return pieces;
}

Result<std::string> CommandTemplate::fill(const Word& word, std::string_view item, ItemIndex index,
                                          const Fields& fields) const {
  std::string out;
  for (const Piece& piece : word) {
    if (piece.kind == Kind::text) {
      out += piece.text;
      continue;
    }
    std::string value;
    switch (piece.kind) {
      case Kind::text:
      case Kind::item: value = item; break;
      case Kind::no_extension: value = without_extension(item); break;
      case Kind::base: value = base_name(item); break;
      case Kind::directory: value = directory_name(item); break;
      case Kind::base_no_extension: value = without_extension(base_name(item)); break;
      case Kind::number: value = std::to_string(index.value + 1); break;
      case Kind::field: {
        const auto field = fields.find(piece.text);
        if (field == fields.end()) {
          return fail(ErrorCode::bad_input, concat("item ", index.value, " has no field '", piece.text, "'"),
                      "add that field to every line, or remove the placeholder from the command");
        }
        value = field->second;
        if (value.find('\0') != std::string::npos) {
          return fail(ErrorCode::bad_input,
                      concat("item ", index.value, ": field '", piece.text, "' contains a NUL character"));
        }
        break;
      }
    }
    out += shell_ ? shell_quote(value) : value;
  }
  return out;
}

Result<std::vector<std::string>> CommandTemplate::render(std::string_view item, ItemIndex index) const {
  Fields fields;
  if (json_) {
    auto parsed = json_fields(item);
    if (!parsed) {
      return fail(ErrorCode::bad_input, concat("item ", index.value, " is ", parsed.error().message),
                  "write one JSON object per line");
    }
    fields = std::move(*parsed);
  }
  std::vector<std::string> out;
  for (const Word& word : words_) {
    auto filled = fill(word, item, index, fields);
    if (!filled) return pass(filled);
    out.push_back(std::move(*filled));
  }
  if (!shell_) return out;
  std::string line;
  for (const std::string& word : out) line += (line.empty() ? "" : " ") + word;
  return std::vector<std::string>{"/bin/sh", "-c", std::move(line)};
}

Result<void> CommandTemplate::check(std::string_view item, ItemIndex index) const {
  if (!json_) return {};
  auto rendered = render(item, index);
  if (!rendered) return pass(rendered);
  return {};
}

const std::string* CommandTemplate::fixed_program() const {
  static const std::string kShell = "/bin/sh";
  if (shell_) return &kShell;
  const Word& first = words_.front();
  if (first.size() == 1 && first.front().kind == Kind::text) return &first.front().text;
  return nullptr;
}

std::string shown_command(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && word.find_first_of(" '\"\\$`\n\t*?[]()<>|&;") == std::string::npos;
    out += (out.empty() ? "" : " ") + (plain ? word : shell_quote(word));
  }
  return out;
}

}  // namespace drover
