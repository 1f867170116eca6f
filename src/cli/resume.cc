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

Result<int> resume(const ResumeFlags& flags) {
  if (flags.take_failed && names_server(flags.server)) {
    return server_retry(flags.common, flags.server, flags.reference);
  }
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
  verb->footer(take_failed ? "Example:\n  drover retry nightly" : "Example:\n  drover resume nightly");
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
