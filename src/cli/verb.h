// What the verbs share. Each verb is one file: it adds its subcommand, with help and an example, and sets the exit
// status.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace drover {

/// Exit status, as scripts rely on it.
inline constexpr int kAllSucceeded = 0;
inline constexpr int kSomeDidNot = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kInterrupted = 130;

/// What main gives every verb.
struct Invocation {
  std::vector<std::string> after_dashes;  // the words behind `--`
  bool had_dashes = false;
  int exit_status = 0;
};

/// Flags that every verb has.
struct CommonFlags {
  std::string data;
  bool json = false;
  bool quiet = false;
};
void add_common_flags(CLI::App& verb, CommonFlags& flags);

/// Prints "drover: message" and the next step to stderr.
void print_error(const Error& error);
/// Prints the error and gives the exit status that fits it.
int failure(const Error& error);
void print_notice(const std::string& text);

/// Keeps SIGINT, SIGTERM and SIGHUP for a loop that reads them. Before any thread starts.
void block_signals();

/// The run that a reference names (a name, a job's UUID or a unique prefix of one; empty: the newest run), and the item
/// behind a colon if there is one.
struct Reference {
  std::string run;
  bool has_item = false;
  std::uint64_t item = 0;
};
Result<Reference> resolve(const std::string& root, const std::string& text);
/// For verbs that mean a whole run.
Result<void> refuse_item(const Reference& reference);

void add_server(CLI::App& app, Invocation& invocation);
void add_worker(CLI::App& app, Invocation& invocation);
void add_submit(CLI::App& app, Invocation& invocation);
void add_jobs(CLI::App& app, Invocation& invocation);
void add_why(CLI::App& app, Invocation& invocation);
void add_events(CLI::App& app, Invocation& invocation);
void add_usage(CLI::App& app, Invocation& invocation);
void add_queue(CLI::App& app, Invocation& invocation);
void add_definition(CLI::App& app, Invocation& invocation);
void add_fleet(CLI::App& app, Invocation& invocation);
void add_workers(CLI::App& app, Invocation& invocation);
void add_image(CLI::App& app, Invocation& invocation);
void add_key(CLI::App& app, Invocation& invocation);
void add_backup(CLI::App& app, Invocation& invocation);
void add_restore(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_resume(CLI::App& app, Invocation& invocation);
void add_retry(CLI::App& app, Invocation& invocation);
void add_status(CLI::App& app, Invocation& invocation);
void add_items(CLI::App& app, Invocation& invocation);
void add_logs(CLI::App& app, Invocation& invocation);
void add_shell(CLI::App& app, Invocation& invocation);
void add_repro(CLI::App& app, Invocation& invocation);
void add_report(CLI::App& app, Invocation& invocation);
void add_cancel(CLI::App& app, Invocation& invocation);
void add_sql(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_env_vars(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app, Invocation& invocation);
void add_man(CLI::App& app, Invocation& invocation);
void add_version(CLI::App& app, Invocation& invocation);

}  // namespace drover
