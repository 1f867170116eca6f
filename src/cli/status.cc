// drover status: how far a run is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/run_reporter.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "cli/watch.h"
#include "engine/system_clock.h"
#include "screen/plain_text.h"
#include "wire/definition.h"
#include "worker/command_template.h"

namespace drover {
namespace {

struct StatusFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;
  bool watch = false;
};

Result<int> watch(const StatusFlags& flags, Site site) {
  if (site == Site::here) return watch_run(flags.common, flags.reference);
  if (flags.reference.empty()) return watch_jobs(flags.common, flags.server);
  return watch_job(flags.common, flags.server, flags.reference);
}

/// As it was typed; empty: it is the image's own.
std::string command_of(const OpenedRun& run) {
  auto text = run.reader->definition(run.job.definition);
  if (!text) return {};
  auto definition = definition_from_json(*text);
  if (!definition) return {};
  return definition->shell ? fmt::format("{}", fmt::join(definition->command, " "))
                           : shown_command(definition->command);
}

std::string elapsed_text(const Job& job, bool is_held) {
  if (job.ended()) return fmt::format(", ended {}", local_time(static_cast<std::uint64_t>(job.ended_ms)));
  if (!is_held) return {};
  return fmt::format(", running for {}", format_duration_us((SystemWallClock().epoch_ms() - job.created_ms) * 1000));
}

Result<int> status(const StatusFlags& flags) {
  auto site = site_of(flags.common, flags.server, flags.reference);
  if (!site) return pass(site);
  if (flags.watch) return watch(flags, *site);
  if (*site == Site::server) return server_status(flags.common, flags.server, flags.reference);
  auto run = open_run(flags.common, flags.reference);
  if (!run) return pass(run);
  if (auto whole = refuse_item(run->reference); !whole) return pass(whole);
  const Job& job = run->job;
  const auto running = run->running();
  auto counts = count_items(*run->reader, job, running.size());
  if (!counts) return pass(counts);
  const auto& holder = run->holder;
  const bool held = holder.has_value();
  if (flags.common.json) {
    boost::json::object out = job_to_json(job, *counts);
    out["held"] = held;
    if (holder) out["pid"] = holder->at("pid");
    boost::json::array now;
    for (const auto& [item, it] : running) {
      now.push_back(boost::json::object{{"item", item}, {"attempt", it.attempt}, {"seconds", it.seconds}});
    }
    out["running"] = std::move(now);
    show("{}\n", boost::json::serialize(out));
    return kAllSucceeded;
  }

  const std::string state = job.ended() ? std::string(to_string(job.state)) : held ? "running" : "stopped";
  show("run '{}' {}\n", run->folder.name(), state);
  if (!job.reason.empty()) show("  {}\n", job.reason);
  show("  {:<10} {}\n", "id", job.uuid.text());
  if (const std::string command = command_of(*run); !command.empty()) {
    show("  {:<10} {}\n", "command", plain_text(command, 200));
  }
  show("  {:<10} {}{}\n", "begun", local_time(static_cast<std::uint64_t>(job.created_ms)), elapsed_text(job, held));
  show("  {:<10} {}: {} succeeded, {} failed, {} running, {} waiting, {} pending, {} cancelled\n", "items",
       format_count(job.total), format_count(counts->succeeded), format_count(counts->failed),
       format_count(counts->running), format_count(counts->waiting), format_count(counts->pending),
       format_count(counts->cancelled));
  for (const auto& [item, it] : running) {
    show("  {:<10} item {}, attempt {}, for {}\n", "running", item, it.attempt,
         format_duration_us(static_cast<std::int64_t>(it.seconds * 1e6)));
  }
  if (!job.ended() && !held) show("  stopped; resume with: drover resume {}\n", run->folder.name());
  if (counts->failed > 0)
    show("  failed items: drover items {} --state failed{}\n", run->folder.name(), local_suffix());
  return kAllSucceeded;
}

}  // namespace

void add_status(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<StatusFlags>();
  Verb verb = app.add_subcommand("status", "Show the progress of a run");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("run", flags->reference, "Name or id of the run (default: the newest)").type_name("RUN");
  verb.add_flag(
      "--watch,-w", flags->watch,
      "Keep the display up to date until q is pressed; with a server and no job, show all its jobs and workers");
  verb.footer(
      "Examples:\n  drover status nightly\n  drover status --watch\n"
      "  drover status --watch --server https://head.example.org:8750");
  verb.callback([flags, &invocation] {
    auto done = status(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
