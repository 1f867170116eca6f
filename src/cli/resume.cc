// drover resume and drover retry: what is left of a run, with or without what failed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <filesystem>

#include "base/units.h"
#include "cli/limit_flags.h"
#include "cli/print.h"
#include "cli/run_job.h"
#include "cli/server_verbs.h"
#include "store/sqlite_store.h"
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
  ShortageFlags shortage;
  ServerRetry retry;  // what only a server can do
};

// The run is going on in another process: that one takes the failed items up.
Result<int> retry_in_holder(const RunFolder& folder, const ResumeFlags& flags) {
  auto answer = ask_holder(folder.path(), {{"verb", "retry"}});
  if (!answer) return pass(answer);
  if (!answer->at("ok").as_bool()) {
    return fail(ErrorCode::conflict, std::string(answer->at("error").as_string()), "try again in a moment");
  }
  const auto items = answer->at("items").to_number<std::uint64_t>();
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"retried", items}}));
  } else if (!flags.common.quiet) {
    show("run '{}': {} will run again in the process that holds it\n", folder.name(), plural(items, "item"));
  }
  return kAllSucceeded;
}

/// A run on this machine takes up all that failed, with the limits it has.
Result<void> refuse_choice(const ServerRetry& wanted) {
  const char* flag = !wanted.items.empty()     ? "--item"
                     : wanted.exit_code        ? "--exit-code"
                     : wanted.signal           ? "--signal"
                     : !wanted.ending.empty()  ? "--ending"
                     : wanted.cpus > 0         ? "--cpus"
                     : !wanted.memory.empty()  ? "--memory"
                     : wanted.gpus.has_value() ? "--gpus"
                                               : nullptr;
  if (flag == nullptr) return {};
  return fail(ErrorCode::bad_input, fmt::format("{} is for a server's job, and a run on this machine is meant", flag),
              "name the server with --server or $DROVER_SERVER, or leave it away");
}

Result<int> resume(const ResumeFlags& flags) {
  if (flags.take_failed && names_server(flags.server)) {
    ServerRetry wanted = flags.retry;
    wanted.reference = flags.reference;
    return server_retry(flags.common, flags.server, wanted);
  }
  if (auto whole = refuse_choice(flags.retry); !whole) return pass(whole);
  const std::string root = data_root(flags.common.data);
  auto reference = resolve(root, flags.reference);
  if (!reference) return pass(reference);
  if (auto whole = refuse_item(*reference); !whole) return pass(whole);
  if (auto made = make_out_dir(flags.out); !made) return pass(made);
  if (flags.take_failed) {
    auto seen = RunFolder::look(root, reference->run);
    if (!seen) return pass(seen);
    if (seen->holder()) return retry_in_holder(*seen, flags);
  }
  auto shortage = make_shortage(flags.shortage);
  if (!shortage) return pass(shortage);
  auto folder = RunFolder::hold(root, reference->run, print_notice);
  if (!folder) return pass(folder);
  auto store = open_store(*folder);
  if (!store) return pass(store);
  DriveOptions options{
      flags.common, flags.jobs == 0 ? default_slots() : flags.jobs, flags.out, std::nullopt, flags.take_failed, true};
  options.shortage = *shortage;
  if (!options.out_dir.empty()) options.out_dir = std::filesystem::absolute(options.out_dir).string();
  return drive(*folder, **store, std::nullopt, options);
}

void add_choice(CLI::App& verb, ServerRetry& wanted) {
  verb.add_option("--item", wanted.items, "Of a server's job only the item of this index; may be repeated")
      ->type_name("INDEX")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  verb.add_option("--exit-code", wanted.exit_code, "Of a server's job only what ended with this code")
      ->type_name("N")
      ->check(CLI::Range(0, 255));
  verb.add_option("--signal", wanted.signal, "Of a server's job only what ended by this signal")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  verb.add_option("--ending", wanted.ending, "Of a server's job only what ended so")
      ->type_name("ENDING")
      ->check(CLI::IsMember({"exited", "signalled", "timed_out", "not_started", "stopped", "lost", "out_of_memory"}));
  verb.add_option("--cpus", wanted.cpus, "Items of the server's job ask for so many CPUs from now on")
      ->type_name("N")
      ->check(CLI::Range(0.01, 4096.0));
  verb.add_option("--memory", wanted.memory, "Items of the server's job ask for so much memory from now on")
      ->type_name("SIZE");
  verb.add_option("--gpus", wanted.gpus, "Items of the server's job ask for so many GPUs from now on")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
}

void add_verb(CLI::App& app, Invocation& invocation, bool take_failed) {
  auto flags = std::make_shared<ResumeFlags>();
  flags->take_failed = take_failed;
  CLI::App* verb =
      take_failed ? app.add_subcommand("retry", "Run what is left of a run and what failed")
                  : app.add_subcommand("resume", "Run what is left of a run: neither succeeded nor failed for good");
  add_common_flags(*verb, flags->common);
  if (take_failed) add_server_flag(*verb, flags->server);
  verb->add_option("run", flags->reference, "The run, by name or id (default: the newest)")->type_name("RUN");
  verb->add_option("--jobs,-j", flags->jobs, "Items at a time (default: the cores of this machine)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--out", flags->out, "Also write each item's output to DIR/INDEX.out and DIR/INDEX.err")
      ->type_name("DIR");
  add_shortage_flags(*verb, flags->shortage);
  if (take_failed) add_choice(*verb, flags->retry);
  verb->footer(take_failed ? "Examples:\n  drover retry nightly\n"
                             "  drover retry nightly --exit-code 75 --server http://head.example.org:8750"
                           : "Example:\n  drover resume nightly");
  verb->callback([flags, &invocation] {
    auto status = resume(*flags);
    invocation.exit_status = status ? *status : failure(status.error());
  });
}

}  // namespace

void add_resume(CLI::App& app, Invocation& invocation) {
  add_verb(app, invocation, false);
}

void add_retry(CLI::App& app, Invocation& invocation) {
  add_verb(app, invocation, true);
}

}  // namespace drover
