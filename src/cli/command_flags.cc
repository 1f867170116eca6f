#include "cli/command_flags.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/usage_error.h"

namespace drover {

void add_command_flags(const Verb& verb, CommandFlags& flags) {
  flags.verb = verb;
  verb.add_option("--items", flags.items, "Read items from FILE, one per line; - is standard input").type_name("FILE");
  verb.add_flag("-0,--null", flags.null_separated, "With --items: items end with a NUL byte instead of a newline");
  verb.add_option("--range", flags.range, "Use the numbers FIRST to LAST as items").type_name("FIRST-LAST");
  verb.add_option("--dir", flags.dir, "Use the files under PATH as items").type_name("PATH");
  verb.add_option("--match", flags.match,
                  "With --dir: use only files whose name matches GLOB, or whose path matches if GLOB contains a slash")
      .type_name("GLOB");
  verb.add_option("--jsonl", flags.jsonl,
                  "Read items from FILE as JSON objects, one per line; {field} is replaced by the field's value")
      .type_name("FILE");
  verb.add_flag("--allow-empty", flags.allow_empty, "Do not warn if the list has no items");
  verb.add_option("--env", flags.environment, "Set an environment variable for the command; repeatable")
      .type_name("NAME=VALUE")
      .repeatable();
  verb.add_option("--workdir", flags.workdir, "Working directory of the command (default: current directory)")
      .type_name("DIR");
  verb.add_flag("--shell", flags.shell, "Run the command as a /bin/sh command line; items are quoted when inserted");
  flags.fields.add(verb, FlagGroup::limits);
  flags.fields.add(verb, FlagGroup::container);
  verb.prefix_command();
}

Result<std::vector<std::string>> take_command(const CommandFlags& flags, const Invocation& invocation) {
  std::vector<std::string> command = flags.words;
  if (!command.empty() && command.front().starts_with('-')) {
    return std::unexpected(unknown_flag(flags.verb.app(), command.front()));
  }
  if (!command.empty() && invocation.had_dashes) {
    return fail(ErrorCode::bad_input, fmt::format("unexpected argument '{}' before --", command.front()),
                "put the whole command after --");
  }
  command.insert(command.end(), invocation.after_dashes.begin(), invocation.after_dashes.end());
  return command;
}

Result<ItemSource> choose_source(const CommandFlags& flags, std::vector<std::string>& command) {
  std::vector<std::pair<std::string, ItemSource>> given;
  if (!flags.items.empty()) {
    auto items = lines_or_objects(flags.items, flags.null_separated ? '\0' : '\n');
    if (!items) return pass(items);
    given.emplace_back("--items", std::move(*items));
  }
  if (!flags.jsonl.empty()) {
    auto lines = lines_or_objects(flags.jsonl, '\n');
    if (!lines) return pass(lines);
    given.emplace_back("--jsonl", std::move(*lines));
  }
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
      return fail(ErrorCode::bad_input, "more than one ::: on the command line",
                  "use ::: once, with one list of items");
    }
    given.emplace_back(":::", WordsSource{words});
  }
  if (given.empty()) {
    return fail(ErrorCode::bad_input, "no items were given",
                "add --items FILE, --items -, --range 1-100, --dir PATH, --jsonl FILE, or ::: a b c at the end");
  }
  if (given.size() > 1) {
    return fail(ErrorCode::bad_input,
                fmt::format("{} and {} cannot be combined: both specify items", given[0].first, given[1].first),
                "use one of them");
  }
  if (flags.null_separated && flags.items.empty()) {
    return fail(ErrorCode::bad_input, "-0 requires --items", "omit -0, or add --items FILE");
  }
  if (!flags.match.empty() && flags.dir.empty()) {
    return fail(ErrorCode::bad_input, "--match requires --dir", "omit --match, or add --dir PATH");
  }
  return given.front().second;
}

Result<std::string> find_workdir(const CommandFlags& flags, bool in_container) {
  if (in_container) {
    if (flags.workdir.empty() || flags.workdir.starts_with('/')) return flags.workdir;
    return fail(ErrorCode::bad_input, fmt::format("--workdir {} is not an absolute path", flags.workdir),
                "use a path inside the container that starts with /, such as --workdir /data");
  }
  std::error_code error;
  std::string path = std::filesystem::absolute(flags.workdir.empty() ? "." : flags.workdir, error).lexically_normal();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

void warn_if_empty(std::uint64_t items, const CommandFlags& flags, const CommonFlags& common) {
  if (items > 0 || flags.allow_empty || common.quiet) return;
  const std::string from = !flags.items.empty()   ? fmt::format("the list {}", flags.items)
                           : !flags.jsonl.empty() ? fmt::format("the list {}", flags.jsonl)
                           : !flags.dir.empty()   ? fmt::format("the folder {}", flags.dir)
                                                  : "the list";
  print_notice(
      fmt::format("warning: {} has no items, so nothing will run; --allow-empty suppresses this warning", from));
}

Result<void> apply_environment(const CommandFlags& flags, Definition& definition) {
  for (const std::string& setting : flags.environment) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::bad_input, fmt::format("--env '{}' is not NAME=VALUE", setting), "write --env NAME=value");
    }
    // The last of two settings of one name counts.
    const std::string variable = setting.substr(0, equals);
    std::erase_if(definition.environment, [&](const auto& it) { return it.first == variable; });
    definition.environment.emplace_back(variable, setting.substr(equals + 1));
  }
  return {};
}

Result<Definition> make_definition(const CommandFlags& flags, std::vector<std::string> command) {
  Submission job;
  Definition& definition = job.definition;
  definition.command = std::move(command);
  definition.shell = flags.shell;
  definition.items = flags.jsonl.empty() ? ItemKind::text : ItemKind::json;
  if (auto applied = flags.fields.apply(job); !applied) return pass(applied);
  auto workdir = find_workdir(flags, definition.container.has_value());
  if (!workdir) return pass(workdir);
  definition.workdir = std::move(*workdir);
  if (auto applied = apply_environment(flags, definition); !applied) return pass(applied);
  return std::move(definition);
}

}  // namespace drover
