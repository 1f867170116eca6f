// What the verbs share. Each verb is one file: it adds its subcommand, with help and an example, and sets the exit
// status.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb_options.h"

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
void add_common_flags(const Verb& verb, CommonFlags& flags);

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

void add_server(const Verb& app, Invocation& invocation);
void add_worker(const Verb& app, Invocation& invocation);
void add_up(const Verb& app, Invocation& invocation);
void add_submit(const Verb& app, Invocation& invocation);
void add_jobs(const Verb& app, Invocation& invocation);
void add_why(const Verb& app, Invocation& invocation);
void add_events(const Verb& app, Invocation& invocation);
void add_usage(const Verb& app, Invocation& invocation);
void add_queue(const Verb& app, Invocation& invocation);
void add_definition(const Verb& app, Invocation& invocation);
void add_fleet(const Verb& app, Invocation& invocation);
void add_stream(const Verb& app, Invocation& invocation);
void add_objects(const Verb& app, Invocation& invocation);
void add_workers(const Verb& app, Invocation& invocation);
void add_image(const Verb& app, Invocation& invocation);
void add_accel(const Verb& app, Invocation& invocation);
void add_key(const Verb& app, Invocation& invocation);
void add_backup(const Verb& app, Invocation& invocation);
void add_restore(const Verb& app, Invocation& invocation);
void add_run(const Verb& app, Invocation& invocation);
void add_resume(const Verb& app, Invocation& invocation);
void add_retry(const Verb& app, Invocation& invocation);
void add_wait(const Verb& app, Invocation& invocation);
void add_runs(const Verb& app, Invocation& invocation);
void add_rm(const Verb& app, Invocation& invocation);
void add_status(const Verb& app, Invocation& invocation);
void add_items(const Verb& app, Invocation& invocation);
void add_logs(const Verb& app, Invocation& invocation);
void add_shell(const Verb& app, Invocation& invocation);
void add_repro(const Verb& app, Invocation& invocation);
void add_report(const Verb& app, Invocation& invocation);
void add_cancel(const Verb& app, Invocation& invocation);
void add_sql(const Verb& app, Invocation& invocation);
void add_doctor(const Verb& app, Invocation& invocation);
void add_env_vars(const Verb& app, Invocation& invocation);
void add_completion(const Verb& app, Invocation& invocation);
void add_man(const Verb& app, Invocation& invocation);
void add_version(const Verb& app, Invocation& invocation);

}  // namespace drover
