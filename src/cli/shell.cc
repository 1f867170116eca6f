// drover shell: a terminal where an item runs: its image, mounts, user, folder, variables and limits.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/attempt_here.h"
#include "cli/image_here.h"
#include "cli/item_here.h"
#include "cli/print.h"
#include "cli/usage_error.h"
#include "screen/plain_text.h"
#include "store/run_folder.h"
#include "worker/command_template.h"

namespace drover {
namespace {

struct ShellFlags : ItemFlags {
  std::vector<std::string> words;  // of a program; none: a shell
};

/// The image's better one, as it finds it itself.
const std::vector<std::string> kShellOfImage = {"/bin/sh", "-c", "[ -x /bin/bash ] && exec /bin/bash; exec /bin/sh"};

std::vector<std::string> shell_of_user() {
  const char* shell = std::getenv("SHELL");
  return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh"};
}

Result<void> refuse_without_terminal(const ShellFlags& flags, bool has_terminal) {
  if (flags.common.json) {
    return fail(ErrorCode::bad_input, "shell cannot be combined with --json",
                "for JSON output use drover repro --json");
  }
  if (has_terminal || !flags.words.empty()) return {};
  return fail(ErrorCode::bad_input, "shell requires a terminal as standard input and output",
              fmt::format("specify a command to run: drover shell {} -- ls -l", flags.reference));
}

/// A command as somebody could paste it, unless there is something in it that a terminal would obey.
std::string pasteable(const std::vector<std::string>& command) {
  const std::string shown = shown_command(command);
  std::string on_one_line = shown;
  std::erase_if(on_one_line, [](char c) { return c == '\n' || c == '\t'; });
  return plain_text(on_one_line) == on_one_line ? shown : plain_text(shown);
}

/// What the item itself would run, and what is not as it was.
void tell_of_item(const RecordedItem& item, const ItemHere& here) {
  std::string state = item.is_running ? "running now" : item.attempt ? "" : "not run yet";
  if (item.attempt && !item.is_running) {
    state = fmt::format("attempt {}: {}", item.attempt->number, item.attempt->how);
  }
  if (const auto own = own_task(item, here)) {
    print_notice(fmt::format("item {} of '{}' ({}) runs: {}", item.index.value, item.job, state,
                             pasteable(own->task.arguments)));
  } else {
    print_notice(fmt::format("item {} of '{}' ({}) cannot run on this machine: {}", item.index.value, item.job, state,
                             own.error().message));
  }
  for (const std::string& each : here.differences) print_notice(fmt::format("different on this machine: {}", each));
}

Result<int> shell(const ShellFlags& flags) {
  const bool has_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (auto fine = refuse_without_terminal(flags, has_terminal); !fine) return pass(fine);
  auto item = find_item(flags);
  if (!item) return pass(item);
  const std::string root = data_root(flags.common.data);
  MachineRunner runner(containers_folder(root));
  auto here = item_here(*item, flags, runner, flags.common.quiet);
  if (!here) return pass(here);
  const std::vector<std::string> words = !flags.words.empty() ? flags.words
                                         : here->image        ? kShellOfImage
                                                              : shell_of_user();
  auto ready = other_task(*item, *here, words);
  if (!ready) return pass(ready);
  if (!flags.common.quiet) tell_of_item(*item, *here);

  Result<AttemptEnd> end;
  if (has_terminal) {
    const char* kind = std::getenv("TERM");
    if (here->image && kind != nullptr) ready->task.environment.push_back(fmt::format("TERM={}", kind));
    auto terminal = UserTerminal::open();
    if (!terminal) return pass(terminal);
    if (here->image && runtime_for(here->image->options) == ContainerRuntime::docker) {
      auto docker = runner.docker();
      if (!docker) return pass(docker);
      end = run_in_terminal(**docker, *ready, **terminal);
    } else {
      end = run_in_terminal(runner, std::move(*ready), **terminal);
    }
  } else {
    ready->setup.input_descriptor = STDIN_FILENO;
    end = run_here(runner, *ready, {});
  }
  if (!end) return pass(end);
  const Outcome& outcome = end->outcome;
  if (outcome.ending == Ending::not_started && flags.words.empty() && here->image) {
    return fail(
        ErrorCode::not_found, outcome.reason,
        fmt::format("if the image has no shell, name another program: drover shell {} -- PROGRAM", flags.reference));
  }
  if (outcome.ending == Ending::not_started || outcome.ending == Ending::out_of_memory) {
    print_notice(outcome.reason);
  }
  return end->exit_status;
}

}  // namespace

void add_shell(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ShellFlags>();
  Verb verb =
      app.add_subcommand("shell", "Open a terminal in the environment of an item: its image, mounts and variables");
  add_item_flags(verb, *flags);
  verb.prefix_command();
  verb.footer(
      "Examples:\n  drover shell nightly:17\n  drover shell nightly:17 -- ls -l\n"
      "Exit status: that of the shell or program; 128 + N if it was terminated by signal N, 127 if it cannot be "
      "started.");
  verb.callback([flags, verb, &invocation] {
    const std::vector<std::string> before = verb.remaining();
    if (!before.empty()) {
      const Error error =
          before.front().starts_with('-')
              ? unknown_flag(verb.app(), before.front())
              : Error{ErrorCode::bad_input, fmt::format("unexpected argument '{}' before --", before.front()),
                      "put the whole command after --"};
      invocation.exit_status = failure(error);
      return;
    }
    flags->words = invocation.after_dashes;
    auto status = shell(*flags);
    invocation.exit_status = status ? *status : failure(status.error());
  });
}

}  // namespace drover
