// The flags that say what to run and on which items, for `run` and `submit` alike.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/field_flags.h"
#include "cli/item_source.h"
#include "cli/verb.h"

namespace drover {

struct CommandFlags {
  Verb verb;                       // whose flags they are
  std::vector<std::string> words;  // of the command, before any --
  std::string items;
  bool null_separated = false;
  std::string range;
  std::string dir;
  std::string match;
  std::string jsonl;
  bool allow_empty = false;
  std::vector<std::string> environment;
  std::string workdir;
  bool shell = false;
  FieldFlags fields;  // limits and container
};

/// What the placeholders of a command mean, for a verb's footer.
inline constexpr const char* kCommandHelp =
    "In the command, {} is the item, {.} the item without its extension, {/} its last path component, {//} its\n"
    "directory, {/.} its last path component without extension, and {#} its number, starting at 1. Without a\n"
    "placeholder, the item is the last argument. The command's environment contains DROVER_JOB_ID, DROVER_ITEM,\n"
    "DROVER_ITEM_INDEX, DROVER_ATTEMPT and DROVER_SLOT.\n\n";

void add_command_flags(const Verb& verb, CommandFlags& flags);
/// The command's words, those behind the -- too.
Result<std::vector<std::string>> take_command(const CommandFlags& flags, const Invocation& invocation);
/// Where the items come from. Takes them off the command if they stand behind its :::.
Result<ItemSource> choose_source(const CommandFlags& flags, std::vector<std::string>& command);
/// The folder to run in: of this machine, or inside a container, where empty is the image's own.
Result<std::string> find_workdir(const CommandFlags& flags, bool in_container);
/// Says so if a list turned out to be empty, unless that is allowed.
void warn_if_empty(std::uint64_t items, const CommandFlags& flags, const CommonFlags& common);

/// Puts the variables that were typed over those of the definition.
Result<void> apply_environment(const CommandFlags& flags, Definition& definition);
Result<Definition> make_definition(const CommandFlags& flags, std::vector<std::string> command);

}  // namespace drover
