// drover completion: a script that lets a shell complete drover's words; and the hidden verb that the scripts ask.

#include "cli/complete_words.h"
#include "cli/completion_scripts.h"
#include "cli/known_names.h"
#include "cli/print.h"
#include "cli/verb.h"

namespace drover {
namespace {

std::string_view script_for(std::string_view shell) {
  return shell == "bash" ? kBashCompletion : shell == "zsh" ? kZshCompletion : kFishCompletion;
}

std::string_view word_for(ShellCompletes by_shell) {
  switch (by_shell) {
    case ShellCompletes::nothing: return "words";
    case ShellCompletes::files: return "files";
    case ShellCompletes::folders: return "folders";
    case ShellCompletes::program: return "program";
  }
  return "words";
}

}  // namespace

void add_completion(const Verb& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  Verb verb = app.add_subcommand("completion", "Print a completion script for a shell");
  verb.add_option("shell", *shell, "Shell that the script is for")
      .type_name("SHELL")
      .required()
      .one_of({"bash", "zsh", "fish"});
  verb.footer(
      "Examples:\n"
      "  eval \"$(drover completion bash)\"\n"
      "  drover completion zsh > ~/.zfunc/_drover\n"
      "  drover completion fish > ~/.config/fish/completions/drover.fish");
  verb.callback([shell] { print_text(stdout, script_for(*shell)); });

  // What the scripts ask, in words behind a -- : one line "KIND NUMBER", then one "WORD<tab>HELP" for each candidate.
  Verb asked = app.add_subcommand("__complete", "");
  asked.hide();
  asked.callback([&app, &invocation] {
    const CommandNode root = command_tree(app.app());
    const Completion completion = complete_words(root, invocation.after_dashes, known_names);
    show("{} {}\n", word_for(completion.by_shell),
         completion.by_shell == ShellCompletes::program ? completion.program_at : completion.cut);
    for (const Candidate& it : completion.candidates) show("{}\t{}\n", it.word, it.help);
  });
}

}  // namespace drover
