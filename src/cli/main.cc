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
                       std::string("some output could not be written: ") + strerrordesc_np(drover::lost_output_error),
                       "check where standard output is redirected to"});
  const bool is_run = verb == "run" || verb == "resume" || verb == "retry";
  return is_run || invocation.exit_status != 0 ? invocation.exit_status : drover::kSomeDidNot;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Drover runs a command for every item in a list, records every outcome, and resumes where it left off.",
               "drover");
  app.require_subcommand(1);
  app.footer("First steps:\n  drover run --items urls.txt -- ./process {}\n  drover status\n  drover VERB --help");

  const drover::Verb verbs(app);
  drover::Invocation invocation;
  drover::add_run(verbs, invocation);
  drover::add_resume(verbs, invocation);
  drover::add_retry(verbs, invocation);
  drover::add_wait(verbs, invocation);
  drover::add_runs(verbs, invocation);
  drover::add_rm(verbs, invocation);
  drover::add_status(verbs, invocation);
  drover::add_items(verbs, invocation);
  drover::add_logs(verbs, invocation);
  drover::add_shell(verbs, invocation);
  drover::add_repro(verbs, invocation);
  drover::add_report(verbs, invocation);
  drover::add_cancel(verbs, invocation);
  drover::add_sql(verbs, invocation);
  drover::add_up(verbs, invocation);
  drover::add_server(verbs, invocation);
  drover::add_worker(verbs, invocation);
  drover::add_submit(verbs, invocation);
  drover::add_jobs(verbs, invocation);
  drover::add_why(verbs, invocation);
  drover::add_events(verbs, invocation);
  drover::add_usage(verbs, invocation);
  drover::add_queue(verbs, invocation);
  drover::add_definition(verbs, invocation);
  drover::add_fleet(verbs, invocation);
  drover::add_stream(verbs, invocation);
  drover::add_objects(verbs, invocation);
  drover::add_workers(verbs, invocation);
  drover::add_image(verbs, invocation);
  drover::add_accel(verbs, invocation);
  drover::add_backup(verbs, invocation);
  drover::add_restore(verbs, invocation);
  drover::add_key(verbs, invocation);
  drover::add_doctor(verbs, invocation);
  drover::add_env_vars(verbs, invocation);
  drover::add_completion(verbs, invocation);
  drover::add_man(verbs, invocation);
  drover::add_version(verbs, invocation);
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
