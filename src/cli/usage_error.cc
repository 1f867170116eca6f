#include "cli/usage_error.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/nearest_word.h"
#include "base/text.h"
#include "cli/command_tree.h"

namespace drover {
namespace {

/// "drover key create"
std::string title_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : concat(title_of(*app.get_parent()), " ", app.get_name());
}

std::string next_step(const CLI::App& app, const std::string& meant) {
  const std::string help = concat(title_of(app), " --help");
  return meant.empty() ? concat("see ", help) : concat("did you mean '", meant, "'? see ", help);
}

const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string nearest_part(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CommandNode& part : command_tree(app).parts) names.push_back(part.name);
  return nearest_word(word, names);
}

const CLI::App& root_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app : root_of(*app.get_parent());
}

/// "it is an option of 'drover submit' and 'drover retry'"; empty: no verb has it.
std::string verbs_with(const CLI::App& root, const std::string& flag) {
  std::vector<std::string> found;
  for (const CommandNode& verb : command_tree(root).parts) {
    if (verb.flag(flag) != nullptr) found.push_back(concat("'", root.get_name(), " ", verb.name, "'"));
  }
  constexpr std::size_t kMostNamed = 3;
  if (found.empty() || found.size() > kMostNamed) return {};
  std::string out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    out += concat(i == 0 ? "" : i + 1 < found.size() ? ", " : " and ", found[i]);
  }
  return concat("it is an option of ", out);
}

}  // namespace

Error unknown_verb(const CLI::App& app, const std::string& verb) {
  return {ErrorCode::bad_input, concat("unknown verb '", verb, "'"), next_step(app, nearest_part(app, verb))};
}

Error unknown_flag(const CLI::App& verb, const std::string& flag) {
  std::vector<std::string> names;
  for (const CommandFlag& it : command_tree(verb).flags) names.insert(names.end(), it.names.begin(), it.names.end());
  const std::string written = flag.substr(0, flag.find('='));
  Error error{ErrorCode::bad_input, concat("unknown option '", written, "' for ", title_of(verb)), {}};
  // A flag of another verb is not a typing error, and of one letter nothing can be guessed.
  if (const std::string others = verbs_with(root_of(verb), written); !others.empty()) {
    error.next = concat(others, "; for the options of this verb see ", title_of(verb), " --help");
  } else {
    error.next = next_step(verb, written.starts_with("--") ? nearest_word(written, names) : std::string());
  }
  return error;
}

namespace {

/// A flag that is known, but not where it stands: before a part of a verb, or without any.
std::optional<Error> misplaced_flag(const CLI::App& verb, const std::string& flag) {
  const std::string written = flag.substr(0, flag.find('='));
  const CommandNode command = command_tree(verb);
  if (command.flag(written) != nullptr) {
    return Error{ErrorCode::bad_input, concat("option '", written, "' must come after '", verb.get_name(), "'"),
                 concat("write ", title_of(verb), " ", written, " …")};
  }
  const bool a_part_has_it =
      std::ranges::any_of(command.parts, [&](const CommandNode& part) { return part.flag(written) != nullptr; });
  if (!a_part_has_it) return std::nullopt;
  std::string names;
  for (const CommandNode& part : command.parts) names += concat(names.empty() ? "" : ", ", part.name);
  return Error{ErrorCode::bad_input, concat(title_of(verb), " requires a subcommand"),
               concat("use one of ", names, "; see ", title_of(verb), " --help")};
}

}  // namespace

Error usage_error(const CLI::App& app, const CLI::ParseError& thrown) {
  const CLI::App& verb = innermost(app);
  // What was left over says more than what is missing because of it.
  const std::vector<std::string> left_over = app.remaining(true);
  for (const std::string& word : left_over) {
    if (word.size() > 1 && word.starts_with('-')) return misplaced_flag(verb, word).value_or(unknown_flag(verb, word));
  }
  if (!left_over.empty()) {
    const std::string& word = left_over.front();
    const bool has_parts = !command_tree(verb).parts.empty();
    return {ErrorCode::bad_input,
            has_parts ? concat("unknown subcommand '", word, "' for ", title_of(verb))
                      : concat("unexpected argument '", word, "' for ", title_of(verb)),
            next_step(verb, nearest_part(verb, word))};
  }
  return {ErrorCode::bad_input, thrown.what(), next_step(verb, "")};
}

}  // namespace drover
