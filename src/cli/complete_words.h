// What may come next on a command line: the part of completion that is the same for every shell.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace drover {

struct Candidate {
  std::string word;
  std::string help;  // may be empty

  bool operator==(const Candidate&) const = default;
};

/// What the shell completes by itself.
enum class ShellCompletes : std::uint8_t { nothing, files, folders, program };

struct Completion {
  ShellCompletes by_shell = ShellCompletes::nothing;
  std::size_t program_at = 0;  // with `program`: the index of the word that names it
  std::size_t cut = 0;         // how much of the last word stands before the value, as in --items=li
  std::vector<Candidate> candidates;
};

/// What was said before the word that is being completed, as far as it tells where to look for names.
struct SaidBefore {
  std::string data;
  std::string server;
};

/// Names of runs, or of what a server has.
using NameSource = std::function<std::vector<Candidate>(ValueKind kind, const SaidBefore& said)>;

/// `words` are those behind the program's name; the last is being typed, and may be empty.
Completion complete_words(const CommandNode& root, std::span<const std::string> words, const NameSource& names);

}  // namespace drover
