#include "cli/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <cctype>

namespace drover {
namespace {

enum class Kind : std::uint8_t { yes_or_no, number, text, list };

Kind kind_of(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return Kind::yes_or_no;
  if (option.get_expected_max() > 1) return Kind::list;
  const std::string type = option.get_type_name();  // what may be checked stands behind a colon: "N:INT in [1 - 9]"
  return type.substr(0, type.find(':')) == "N" ? Kind::number : Kind::text;
}

std::string_view words_for(Kind kind) {
  switch (kind) {
    case Kind::yes_or_no: return "true or false";
    case Kind::number: return "a number";
    case Kind::text: return "a quoted string";
    case Kind::list: return "a quoted string, or a list of quoted strings";
  }
  return "";
}

/// --help and --config are not settings.
bool is_setting(const CLI::Option& option) {
  return !option.get_lnames().empty() && option.get_lnames().front() != "help" &&
         option.get_lnames().front() != "config";
}

std::string setting_names(const CLI::App& verb) {
  std::string names;
  for (const CLI::Option* option : verb.get_options()) {
    if (is_setting(*option)) names += (names.empty() ? "" : ", ") + option->get_lnames().front();
  }
  return names;
}

/// The value as words of a command line; nothing: it is not of that kind.
std::optional<std::vector<std::string>> words_of(const toml::node& node, Kind kind) {
  if (kind == Kind::yes_or_no) {
    if (!node.is_boolean()) return std::nullopt;
    return std::vector<std::string>{node.ref<bool>() ? "true" : "false"};
  }
  if (kind == Kind::number) {
    if (node.is_integer()) return std::vector{fmt::format("{}", node.ref<std::int64_t>())};
    if (node.is_floating_point()) return std::vector{fmt::format("{}", node.ref<double>())};
    return std::nullopt;
  }
  if (node.is_string()) return std::vector{node.ref<std::string>()};
  if (kind != Kind::list || !node.is_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const toml::node& it : *node.as_array()) {
    if (!it.is_string()) return std::nullopt;
    words.push_back(it.ref<std::string>());
  }
  return words;
}

Result<void> set(CLI::App& verb, const std::string& path, std::string_view key, const toml::node& node) {
  const auto wrong = [&](std::string_view what, std::string next) {
    return fail(ErrorCode::bad_input, fmt::format("{}, line {}: {}", path, node.source().begin.line, what),
                std::move(next));
  };
  CLI::Option* option = verb.get_option_no_throw(fmt::format("--{}", key));
  if (option == nullptr || !is_setting(*option)) {
    return wrong(fmt::format("unknown setting '{}'", key), fmt::format("the settings are {}", setting_names(verb)));
  }
  const Kind kind = kind_of(*option);
  const auto words = words_of(node, kind);
  if (!words) {
    return wrong(fmt::format("'{}' must be {}", key, words_for(kind)),
                 fmt::format("see 'drover {} --help' for its meaning", verb.get_name()));
  }
  if (option->count() > 0 || words->empty()) return {};
  try {
    for (const std::string& word : *words) option->add_result(word);
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    return wrong(fmt::format("'{}': {}", key, error.what()),
                 fmt::format("see 'drover {} --help' for valid values", verb.get_name()));
  }
  return {};
}

}  // namespace

void add_config_flag(const Verb& verb, std::string& path, std::string_view prefix) {
  verb.add_option("--config", path, "Settings file (TOML); each key is the name of a flag without the leading dashes")
      .type_name("FILE");
  for (CLI::Option* option : verb.app().get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help" || !option->get_envname().empty())
      continue;
    std::string name = fmt::format("{}_{}", prefix, option->get_lnames().front());
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    option->envname(name);
    if (kind_of(*option) == Kind::list) option->delimiter(',');
  }
}

Result<void> read_config(const Verb& verb, const std::string& path) {
  if (path.empty()) return {};
  toml::table settings;
  try {
    settings = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    if (error.source().begin.line == 0) {
      return fail(ErrorCode::not_found, fmt::format("cannot read settings file {}", path),
                  "check the path given with --config and the file's permissions");
    }
    return fail(ErrorCode::bad_input,
                fmt::format("{}, line {}: {}", path, error.source().begin.line, error.description()),
                "write each line as key = \"text\", key = true, or key = [\"a\", \"b\"]");
  }
  for (const auto& [key, node] : settings) {
    if (auto done = set(verb.app(), path, key.str(), node); !done) return done;
  }
  return {};
}

}  // namespace drover
