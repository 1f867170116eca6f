// drover resume and drover retry: what is left of a run, with or without what failed.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <initializer_list>

#include "base/units.h"
#include "cli/devices_here.h"
#include "cli/field_flags.h"
#include "cli/notices_in_background.h"
#include "cli/opened_run.h"
#include "cli/policy_flags.h"
#include "cli/print.h"
#include "cli/run_job.h"
#include "cli/run_settings.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "cli/shortage_flags.h"
#include "store/sqlite_store.h"
#include "wire/definition.h"
#include "worker/control.h"

namespace drover {
namespace {

struct ResumeFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;
  std::size_t jobs = 0;
  std::string out;
  bool take_failed = false;
  FieldFlags limits;
  PolicyFlags policy;
  ShortageFlags shortage;
  PrintFlags print;
  Verb verb;          // knows which of them were given
  ServerRetry retry;  // what only a server can do
};

// The run is going on in another process: that one takes the failed items up.
Result<int> retry_in_holder(const RunFolder& folder, const ResumeFlags& flags) {
  if (flags.limits.any() || flags.policy.any()) {
    return fail(
        ErrorCode::conflict,
        fmt::format("run '{}' is running in another process; its limits cannot be changed", folder.name()),
        fmt::format("wait until it has ended, then retry: drover wait {0}; drover retry {0} ...", folder.name()));
  }
  auto answer = ask_holder(folder.path(), {{"verb", "retry"}});
  if (!answer) return pass(answer);
  if (!answer->at("ok").as_bool()) {
    return fail(ErrorCode::conflict, std::string(answer->at("error").as_string()), "retry later");
  }
  const auto items = answer->at("items").to_number<std::uint64_t>();
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"retried", items}}));
  } else if (!flags.common.quiet) {
    show("run '{}': {} will run again in the process executing this run\n", folder.name(), plural(items, "item"));
  }
  return kAllSucceeded;
}

/// A run on this machine takes up all that failed.
Result<void> refuse_choice(const ServerRetry& wanted) {
  const char* flag = !wanted.items.empty()     ? "--item"
                     : wanted.exit_code        ? "--exit-code"
                     : wanted.signal           ? "--signal"
                     : !wanted.ending.empty()  ? "--ending"
                     : wanted.gpus.has_value() ? "--gpus"
                                               : nullptr;
  if (flag == nullptr) return {};
  return fail(ErrorCode::bad_input, fmt::format("{} is for jobs on a server, not for runs on this machine", flag),
              "name the server with --server or $DROVER_SERVER, or omit the flag");
}

/// Of a server's job only what an item asks for can be changed.
Result<int> retry_on_server(const ResumeFlags& flags) {
  for (const char* flag :
       {"--timeout", "--grace", "--retries", "--retry-delay", "--retry-on", "--max-failures", "--pids", "--nice",
        "--log-limit", "--print", "--keep-order", "--out", "--jobs", "--max-load", "--min-free-memory"}) {
    if (flags.verb.count(flag) == 0) continue;
    return fail(ErrorCode::bad_input, fmt::format("{} is for runs on this machine, not for jobs on a server", flag),
                "omit the flag, or submit the job again with it");
  }
  ServerRetry wanted = flags.retry;
  wanted.reference = flags.reference;
  Submission asks;
  if (auto applied = flags.limits.apply(asks); !applied) return pass(applied);
  wanted.memory = flags.limits.word("memory").value_or("");
  wanted.cpus = asks.definition.limits.milli_cpus / 1000.0;
  return server_retry(flags.common, flags.server, wanted);
}

/// The options of the run as it was, with the flags given now over them; and saved for the next time.
Result<DriveOptions> options_of(const RunFolder& folder, const ResumeFlags& flags) {
  auto reader = open_sqlite_reader(folder.database());
  if (!reader) return pass(reader);
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);
  if (jobs->empty()) return std::unexpected(list_not_read(folder.name()));
  const Job& job = jobs->back();
  RunSettings settings = load_settings(folder);
  if (flags.jobs > 0) settings.jobs = flags.jobs;
  if (!flags.out.empty()) settings.out_dir = std::filesystem::absolute(flags.out).string();
  if (flags.limits.any()) {
    auto text = (*reader)->definition(job.definition);
    if (!text) return pass(text);
    auto definition = definition_from_json(*text);
    if (!definition) return pass(definition);
    Submission job_now;
    job_now.definition.limits = settings.limits.value_or(definition->limits);
    if (auto applied = flags.limits.apply(job_now); !applied) return pass(applied);
    settings.limits = job_now.definition.limits;
  }
  if (auto made = make_out_dir(settings.out_dir); !made) return pass(made);
  if (auto saved = save_settings(folder, settings); !saved) return pass(saved);
  DriveOptions options{.flags = flags.common,
                       .slots = settings.jobs == 0 ? default_slots() : settings.jobs,
                       .out_dir = settings.out_dir,
                       .policy = std::nullopt,
                       .take_failed = flags.take_failed,
                       .resumed = true,
                       .limits = settings.limits,
                       .shortage = {}};
  auto devices = devices_for(settings.accelerators, options.slots);
  if (!devices) return pass(devices);
  options.devices = std::move(*devices);
  if (flags.policy.any()) {
    auto policy = policy_over(job.policy, flags.policy, job.total);
    if (!policy) return pass(policy);
    options.policy = *policy;
  }
  return options;
}

Result<int> resume(const ResumeFlags& flags) {
  if (flags.take_failed) {
    auto site = site_of(flags.common, flags.server, flags.reference);
    if (!site) return pass(site);
    if (*site == Site::server) return retry_on_server(flags);
  }
  if (auto whole = refuse_choice(flags.retry); !whole) return pass(whole);
  const std::string root = data_root(flags.common.data);
  auto reference = resolve(root, flags.reference);
  if (!reference) return pass(reference);
  if (auto whole = refuse_item(*reference); !whole) return pass(whole);
  if (flags.take_failed) {
    auto seen = RunFolder::look(root, reference->run);
    if (!seen) return pass(seen);
    if (seen->holder()) return retry_in_holder(*seen, flags);
  }
  auto print = print_order(flags.print, flags.common);
  if (!print) return pass(print);
  auto shortage = make_shortage(flags.shortage);
  if (!shortage) return pass(shortage);
  auto folder = RunFolder::hold(root, reference->run, print_notice);
  if (!folder) return pass(folder);
  auto store = open_store(*folder);
  if (!store) return pass(store);
  auto options = options_of(*folder, flags);
  if (!options) return pass(options);
  options->shortage = *shortage;
  options->print = *print;
  return drive(*folder, **store, std::nullopt, *options);
}

void add_choice(const Verb& verb, ServerRetry& wanted) {
  verb.add_option("--item", wanted.items, "For a job on a server: retry only the item with this index; repeatable")
      .type_name("INDEX")
      .repeatable();
  verb.add_option("--exit-code", wanted.exit_code,
                  "For a job on a server: retry only items that ended with this exit code")
      .type_name("N")
      .range(0, 255);
  verb.add_option("--signal", wanted.signal,
                  "For a job on a server: retry only items that were terminated by this signal")
      .type_name("N")
      .range(1, 64);
  verb.add_option("--ending", wanted.ending, "For a job on a server: retry only items that ended this way")
      .type_name("ENDING")
      .one_of({"exited", "signalled", "timed_out", "not_started", "stopped", "lost", "out_of_memory"});
  verb.add_option("--gpus", wanted.gpus, "For a job on a server: number of GPUs that each item requests from now on")
      .type_name("N")
      .range(0, 1'000'000);
}

void add_verb(const Verb& app, Invocation& invocation, bool take_failed) {
  auto flags = std::make_shared<ResumeFlags>();
  flags->take_failed = take_failed;
  Verb verb = take_failed
                  ? app.add_subcommand("retry", "Resume a run and also retry its failed items")
                  : app.add_subcommand(
                        "resume", "Resume a run: start the items that have neither succeeded nor failed permanently");
  flags->verb = verb;
  add_common_flags(verb, flags->common);
  if (take_failed) add_place_flags(verb, flags->server);
  verb.add_option("run", flags->reference, "Name or id of the run (default: the newest)").type_name("RUN");
  verb.add_option("--jobs,-j", flags->jobs, "Maximum number of items to run at once (default: as before)")
      .type_name("N")
      .range(1, 4096);
  verb.add_option("--out", flags->out,
                  "Also write each item's output to DIR/INDEX.out and DIR/INDEX.err (default: as before)")
      .type_name("DIR");
  flags->limits.add(verb, FlagGroup::limits);
  add_policy_flags(verb, flags->policy);
  add_shortage_flags(verb, flags->shortage);
  add_print_flags(verb, flags->print);
  if (take_failed) add_choice(verb, flags->retry);
  verb.footer(take_failed ? "Examples:\n  drover retry nightly\n  drover retry nightly --memory 16GiB --timeout 2h\n"
                            "  drover retry nightly --exit-code 75 --server http://head.example.org:8750"
                          : "Example:\n  drover resume nightly");
  verb.callback([flags, &invocation] {
    const NoticesInBackground notices;
    auto status = resume(*flags);
    invocation.exit_status = status ? *status : failure(status.error());
  });
}

}  // namespace

void add_resume(const Verb& app, Invocation& invocation) {
  add_verb(app, invocation, false);
}

void add_retry(const Verb& app, Invocation& invocation) {
  add_verb(app, invocation, true);
}

}  // namespace drover
