// The flags that say what to run and on which items, for `run` and `submit` alike.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/container_flags.h"
#include "cli/item_source.h"
#include "cli/limit_flags.h"
#include "cli/verb.h"
#include "wire/definition.h"

namespace CLI {
class App;
}

namespace drover {

struct CommandFlags {
  const CLI::App* verb = nullptr;  // whose flags they are
  std::vector<std::string> words;  // of the command, before any --
  std::string items;
  bool null_separated = false;
  std::string range;
  std::string dir;
  std::string match;
  std::string jsonl;
  std::vector<std::string> environment;
  std::string workdir;
  bool shell = false;
  LimitFlags limits;
  ContainerFlags container;
};

/// What the placeholders of a command mean, for a verb's footer.
inline constexpr const char* kCommandHelp =
    "In the command {} is the item, {.} the item without its extension, {/} its last path component, {//} its\n"
    "folder, {/.} its last component without extension, {#} its number from 1. Without any, the item is the last\n"
    "argument. The command sees DROVER_JOB_ID, DROVER_ITEM, DROVER_ITEM_INDEX and DROVER_ATTEMPT.\n\n";

void add_command_flags(CLI::App& app, CommandFlags& flags);
/// The command's words, those behind the -- too.
Result<std::vector<std::string>> take_command(const CommandFlags& flags, const Invocation& invocation);
/// Where the items come from. Takes them off the command if they stand behind its :::.
Result<ItemSource> choose_source(const CommandFlags& flags, std::vector<std::string>& command);
/// The folder to run in: of this machine, or inside a container, where empty is the image's own.
Result<std::string> find_workdir(const CommandFlags& flags, bool in_container);
Result<Definition> make_definition(const CommandFlags& flags, std::vector<std::string> command);

}  // namespace drover
