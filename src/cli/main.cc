// drover: the verbs, and what is said when none of them fits.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cli/print.h"
#include "cli/usage_error.h"
#include "cli/verb.h"

namespace {

// The user's command comes behind `--`. It is kept away from the parser of our own flags, which would understand some
// of it.
std::vector<std::string> take_words(int argc, char** argv, drover::Invocation& invocation) {
  std::vector<std::string> ours;
  for (int i = 1; i < argc; ++i) {
    if (invocation.had_dashes) {
      invocation.after_dashes.emplace_back(argv[i]);
    } else if (std::string_view(argv[i]) == "--") {
      invocation.had_dashes = true;
    } else {
      ours.emplace_back(argv[i]);
    }
  }
  std::ranges::reverse(ours);  // as CLI11 wants them
  return ours;
}

// A join token is a secret, and command lines are for everybody to see: what has been read of it is wiped.
void hide_join_tokens(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const std::size_t at = word.find("drover-join-");
    if (at != std::string_view::npos) std::fill(argv[i] + at, argv[i] + word.size(), 'x');
  }
}

// A file opened later must not become somebody's standard output.
void fill_standard_descriptors() {
  int descriptor = open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) close(descriptor);
}

// A flag that may be repeated takes one word at a time: what comes behind it is the command, a job file, or :::.
void take_one_word_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) take_one_word_each(*part);
}

/// Not that of a verb that went well while its answer was lost, such as on a full disk. Of a run that is another
/// matter: what it did is recorded.
int exit_status(const drover::Invocation& invocation, const std::string& verb) {
  const bool is_whole = drover::flush_output() && drover::lost_output_error == 0;
  if (is_whole || drover::lost_output_error == EPIPE) return invocation.exit_status;
  drover::print_error({drover::ErrorCode::io,
                       std::string("not all could be printed: ") + strerrordesc_np(drover::lost_output_error),
                       "look at where standard output goes"});
  const bool is_run = verb == "run" || verb == "resume" || verb == "retry";
  return is_run || invocation.exit_status != 0 ? invocation.exit_status : drover::kSomeDidNot;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Drover runs every item of a list, keeps what became of each, and goes on where it stopped.", "drover");
  app.require_subcommand(1);
  app.footer("First steps:\n  drover run --items urls.txt -- ./process {}\n  drover status\n  drover VERB --help");

  drover::Invocation invocation;
  drover::add_run(app, invocation);
  drover::add_resume(app, invocation);
  drover::add_retry(app, invocation);
  drover::add_status(app, invocation);
  drover::add_items(app, invocation);
  drover::add_logs(app, invocation);
  drover::add_shell(app, invocation);
  drover::add_repro(app, invocation);
  drover::add_report(app, invocation);
  drover::add_cancel(app, invocation);
  drover::add_sql(app, invocation);
  drover::add_server(app, invocation);
  drover::add_worker(app, invocation);
  drover::add_submit(app, invocation);
  drover::add_jobs(app, invocation);
  drover::add_why(app, invocation);
  drover::add_events(app, invocation);
  drover::add_usage(app, invocation);
  drover::add_queue(app, invocation);
  drover::add_definition(app, invocation);
  drover::add_fleet(app, invocation);
  drover::add_workers(app, invocation);
  drover::add_image(app, invocation);
  drover::add_backup(app, invocation);
  drover::add_restore(app, invocation);
  drover::add_key(app, invocation);
  drover::add_doctor(app, invocation);
  drover::add_env_vars(app, invocation);
  drover::add_completion(app, invocation);
  drover::add_man(app, invocation);
  drover::add_version(app, invocation);
  take_one_word_each(app);

  std::vector<std::string> words = take_words(argc, argv, invocation);
  hide_join_tokens(argc, argv);
  if (words.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return drover::kBadUsage;
  }
  const std::string verb = words.back();
  const bool known = !app.get_subcommands([&](const CLI::App* it) { return it->get_name() == verb; }).empty();
  if (!verb.starts_with('-') && !known) {
    drover::print_error(drover::unknown_verb(app, verb));
    return drover::kBadUsage;
  }
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::puts(app.help().c_str());
      return 0;
    }
    drover::print_error(drover::usage_error(app, error));
    return drover::kBadUsage;
  }
  return exit_status(invocation, verb);
}
