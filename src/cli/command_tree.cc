#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace drover {
namespace {

// CLI11 keeps what IsMember takes only as text behind the type's name: "KEY:{index,duration}".
std::vector<std::string> choices_in(std::string_view type) {
  const std::size_t open = type.find(":{");
  if (open == std::string_view::npos) return {};
  type = type.substr(open + 2, type.find('}', open) - open - 2);
  std::vector<std::string> choices;
  while (!type.empty()) {
    const std::size_t end = std::min(type.find(','), type.size());
    choices.emplace_back(type.substr(0, end));
    type.remove_prefix(std::min(end + 1, type.size()));
  }
  return choices;
}

ValueKind kind_of(std::string_view name, const std::vector<std::string>& choices) {
  if (!choices.empty()) return ValueKind::choice;
  if (name == "FILE") return ValueKind::file;
  if (name == "DIR" || name == "PATH") return ValueKind::folder;
  if (name == "RUN") return ValueKind::run;
  if (name == "JOB") return ValueKind::job;
  if (name == "WORKER") return ValueKind::worker;
  if (name == "QUEUE") return ValueKind::queue;
  if (name == "DEFINITION") return ValueKind::definition;
  if (name == "FLEET") return ValueKind::fleet;
  if (name == "STREAM") return ValueKind::stream;
  return ValueKind::text;
}

CommandValue value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  CommandValue value{.name = type.substr(0, type.find(':')), .choices = choices_in(type)};
  value.kind = kind_of(value.name, value.choices);
  return value;
}

CommandFlag flag_of(const CLI::Option& option) {
  CommandFlag flag{.names = {}, .help = option.get_description(), .takes_value = option.get_items_expected_max() > 0};
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  if (flag.takes_value) flag.value = value_of(option);
  return flag;
}

// A footer has examples, indented below their heading, and perhaps text before and behind them.
void take_footer(std::string_view footer, CommandNode& command) {
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    if (line == "Example:" || line == "Examples:") continue;
    const bool is_example = line.starts_with("  ");
    std::string& to = is_example ? command.examples : command.notes;
    if (is_example || !line.empty()) to.append(is_example ? line.substr(2) : line).append("\n");
  }
}

}  // namespace

const CommandNode* CommandNode::part(std::string_view wanted) const {
  const auto found = std::ranges::find(parts, wanted, &CommandNode::name);
  return found == parts.end() ? nullptr : &*found;
}

const CommandFlag* CommandNode::flag(std::string_view wanted) const {
  const auto found = std::ranges::find_if(
      flags, [&](const CommandFlag& it) { return std::ranges::find(it.names, wanted) != it.names.end(); });
  return found == flags.end() ? nullptr : &*found;
}

CommandNode command_tree(const CLI::App& app) {
  CommandNode command{.name = app.get_name(), .help = app.get_description(), .takes_command = app.get_prefix_command()};
  take_footer(app.get_footer(), command);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      command.arguments.push_back({.name = option->get_name(),
                                   .help = option->get_description(),
                                   .required = option->get_required(),
                                   .repeats = option->get_expected_max() > 1,
                                   .value = value_of(*option)});
    } else {
      command.flags.push_back(flag_of(*option));
    }
  }
  for (const CLI::App* part : app.get_subcommands({})) {
    if (!part->get_group().empty()) command.parts.push_back(command_tree(*part));
  }
  return command;
}

}  // namespace drover
