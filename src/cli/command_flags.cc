#include "cli/command_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/usage_error.h"

namespace drover {

void add_command_flags(CLI::App& app, CommandFlags& flags) {
  CLI::App* verb = &app;
  flags.verb = verb;
  verb->add_option("--items", flags.items, "Items: the lines of FILE, or of standard input for -")->type_name("FILE");
  verb->add_flag("-0,--null", flags.null_separated, "Items of --items end with a NUL byte, not a newline");
  verb->add_option("--range", flags.range, "Items: the numbers FIRST to LAST")->type_name("FIRST-LAST");
  verb->add_option("--dir", flags.dir, "Items: the files below PATH")->type_name("PATH");
  verb->add_option("--match", flags.match, "Only files of --dir whose name matches")->type_name("GLOB");
  verb->add_option("--jsonl", flags.jsonl, "Items: the JSON objects in FILE, one per line; {field} is a field")
      ->type_name("FILE");
  verb->add_option("--env", flags.environment, "Set a variable for the command; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  verb->add_option("--workdir", flags.workdir, "Where the command runs (default: here)")->type_name("DIR");
  verb->add_flag("--shell", flags.shell, "The command is a line for /bin/sh; items are quoted into it");
  add_limit_flags(app, flags.limits);
  add_container_flags(app, flags.container);
  verb->prefix_command();
}

Result<std::vector<std::string>> take_command(const CommandFlags& flags, const Invocation& invocation) {
  std::vector<std::string> command = flags.words;
  if (!command.empty() && command.front().starts_with('-')) {
    return std::unexpected(unknown_flag(*flags.verb, command.front()));
  }
  if (!command.empty() && invocation.had_dashes) {
    return fail(ErrorCode::bad_input, fmt::format("'{}' stands before the --", command.front()),
                "put the whole command behind it");
  }
  command.insert(command.end(), invocation.after_dashes.begin(), invocation.after_dashes.end());
  return command;
}

Result<ItemSource> choose_source(const CommandFlags& flags, std::vector<std::string>& command) {
  std::vector<std::pair<std::string, ItemSource>> given;
  if (!flags.items.empty()) {
    given.emplace_back("--items", LinesSource{flags.items, flags.null_separated ? '\0' : '\n'});
  }
  if (!flags.jsonl.empty()) given.emplace_back("--jsonl", LinesSource{flags.jsonl, '\n'});
  if (!flags.dir.empty()) given.emplace_back("--dir", FolderSource{flags.dir, flags.match});
  if (!flags.range.empty()) {
    auto range = parse_range(flags.range);
    if (!range) return pass(range);
    given.emplace_back("--range", *range);
  }
  const auto colons = std::ranges::find(command, ":::");
  if (colons != command.end()) {
    const std::vector<std::string> words(colons + 1, command.end());
    command.erase(colons, command.end());
    if (std::ranges::find(words, ":::") != words.end()) {
      return fail(ErrorCode::bad_input, "there is more than one ::: on the line", "give one list of items");
    }
    given.emplace_back(":::", WordsSource{words});
  }
  if (given.empty()) {
    return fail(ErrorCode::bad_input, "no items were given",
                "add --items FILE, --items -, --range 1-100, --dir PATH, --jsonl FILE, or ::: a b c at the end");
  }
  if (given.size() > 1) {
    return fail(ErrorCode::bad_input, fmt::format("items come from both {} and {}", given[0].first, given[1].first),
                "give one of them");
  }
  if (flags.null_separated && flags.items.empty()) {
    return fail(ErrorCode::bad_input, "-0 goes with --items", "take it away, or give --items FILE");
  }
  if (!flags.match.empty() && flags.dir.empty()) {
    return fail(ErrorCode::bad_input, "--match goes with --dir", "take it away, or give --dir PATH");
  }
  return given.front().second;
}

Result<std::string> find_workdir(const CommandFlags& flags, bool in_container) {
  if (in_container) {
    if (flags.workdir.empty() || flags.workdir.starts_with('/')) return flags.workdir;
    return fail(ErrorCode::bad_input, fmt::format("--workdir {} is no absolute path", flags.workdir),
                "a container's folders begin with /: write --workdir /data");
  }
  std::error_code error;
  std::string path = std::filesystem::absolute(flags.workdir.empty() ? "." : flags.workdir, error).lexically_normal();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<Definition> make_definition(const CommandFlags& flags, std::vector<std::string> command) {
  Definition definition;
  definition.command = std::move(command);
  definition.shell = flags.shell;
  definition.items = flags.jsonl.empty() ? ItemKind::text : ItemKind::json;
  std::set<std::string, std::less<>> said;
  if (auto applied = apply_container_flags(flags.container, false, definition.container, said); !applied) {
    return pass(applied);
  }
  auto workdir = find_workdir(flags, definition.container.has_value());
  if (!workdir) return pass(workdir);
  definition.workdir = std::move(*workdir);
  for (const std::string& setting : flags.environment) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::bad_input, fmt::format("--env '{}' sets nothing", setting), "write --env NAME=value");
    }
    // The last of two settings of one name counts.
    const std::string variable = setting.substr(0, equals);
    std::erase_if(definition.environment, [&](const auto& it) { return it.first == variable; });
    definition.environment.emplace_back(variable, setting.substr(equals + 1));
  }
  auto limits = make_limits(flags.limits);
  if (!limits) return pass(limits);
  definition.limits = *limits;
  return definition;
}

}  // namespace drover
