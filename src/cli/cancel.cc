// drover cancel: nothing more of a run is started, and what runs is stopped.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <thread>

#include "cli/print.h"
#include "cli/run_job.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "engine/engine.h"
#include "engine/system_clock.h"
#include "store/sqlite_store.h"
#include "worker/control.h"

namespace drover {
namespace {

struct CancelFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;
};

// Nobody runs it: the record alone is changed.
Result<bool> cancel_record(const RunFolder& folder) {
  auto store = open_store(folder);
  if (!store) return pass(store);
  auto reader = open_sqlite_reader(folder.database());
  if (!reader) return pass(reader);
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);
  if (jobs->empty()) return fail(ErrorCode::not_found, fmt::format("run '{}' has no job to cancel", folder.name()));
  SystemWallClock wall;
  SystemSteadyClock steady;
  auto engine = Engine::start(**store, wall, steady, [](const Effect&) {});
  if (!engine) return pass(engine);
  // What the killed process held goes back first, or its leases would keep the job open.
  if (auto registered = (*engine)->ask(RegisterWorker{"local", 0, 0}); !registered) return pass(registered);
  auto cancelled = (*engine)->ask(CancelJob{jobs->back().id, "cancelled by the user"});
  if (!cancelled) return pass(cancelled);
  return !std::get<JobCancelled>(*cancelled).was_over;
}

// The holder may end between being seen and being asked: then the record alone is left to change, once it is free.
Result<bool> cancel_in(const std::string& root, const std::string& name) {
  constexpr int kTries = 50;
  for (int i = 0;; ++i) {
    auto folder = RunFolder::look(root, name);
    if (!folder) return pass(folder);
    if (folder->holder()) {
      auto answer = ask_holder(folder->path(), {{"verb", "cancel"}});
      if (answer && answer->at("ok").as_bool()) return true;
      if (answer) return fail(ErrorCode::conflict, std::string(answer->at("error").as_string()), "retry the command");
      if (answer.error().code != ErrorCode::not_found || i == kTries) return pass(answer);
    } else {
      auto held = RunFolder::hold(root, name, print_notice);
      if (held) return cancel_record(*held);
      if (held.error().code != ErrorCode::in_use || i == kTries) return pass(held);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<int> cancel(const CancelFlags& flags) {
  auto site = site_of(flags.common, flags.server, flags.reference);
  if (!site) return pass(site);
  if (*site == Site::server) return server_cancel(flags.common, flags.server, flags.reference);
  const std::string root = data_root(flags.common.data);
  auto reference = resolve(root, flags.reference);
  if (!reference) return pass(reference);
  if (auto whole = refuse_item(*reference); !whole) return pass(whole);
  auto changed = cancel_in(root, reference->run);
  if (!changed) return pass(changed);
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"name", reference->run}, {"cancelled", *changed}}));
  } else if (!flags.common.quiet) {
    const std::string outcome = *changed ? "is cancelled; resume it with 'drover resume'" : "had already ended";
    show("run '{}' {}\n", reference->run, outcome);
  }
  return kAllSucceeded;
}

}  // namespace

void add_cancel(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<CancelFlags>();
  Verb verb = app.add_subcommand("cancel", "Stop a run: kill its running items and start no more");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("run", flags->reference, "Name or id of the run (default: the newest)").type_name("RUN");
  verb.footer("Example:\n  drover cancel nightly");
  verb.callback([flags, &invocation] {
    auto done = cancel(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
