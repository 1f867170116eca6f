// The command line as a tree of plain records, read off the parser's own definitions: completion, manual pages and
// suggestions are made from it, so that none of them can say something else than the parser does.
//
// What a value is follows from the name that its help gives it: FILE, DIR or PATH, RUN, JOB, WORKER, QUEUE, DEFINITION,
// FLEET.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace drover {

/// What may stand in the place of a value.
enum class ValueKind : std::uint8_t {
  text,    // nobody can guess it
  choice,  // one of a few words
  file,
  folder,
  run,     // a run on this machine, or a server's job
  job,     // a server's job
  worker,  // a server's
  queue,
  definition,
  fleet,
  stream,
};

struct CommandValue {
  std::string name;  // "FILE"; as in the help
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices;
};

struct CommandFlag {
  std::vector<std::string> names;  // "--jobs", "-j": the long ones first
  std::string help;
  bool takes_value = false;
  CommandValue value;
};

/// A word that is known by its place.
struct CommandArgument {
  std::string name;
  std::string help;
  bool required = false;
  bool repeats = false;
  CommandValue value;
};

struct CommandNode {
  std::string name;  // "run"; of a part of a verb the part alone, "create"
  std::string help;
  std::string notes;     // what its help says besides flags and examples; may be empty
  std::string examples;  // lines without indentation
  std::vector<CommandFlag> flags;
  std::vector<CommandArgument> arguments;
  std::vector<CommandNode> parts;  // its sub-verbs; of the whole, the verbs
  bool takes_command = false;      // the words of a program stand at its end

  const CommandNode* part(std::string_view name) const;
  const CommandFlag* flag(std::string_view name) const;
};

/// Without what is hidden from the help.
CommandNode command_tree(const CLI::App& app);

}  // namespace drover
