// drover runs: the runs on this machine.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>

#include "base/units.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/table.h"
#include "screen/time_words.h"
#include "wire/views.h"
#include "worker/run_summary.h"

namespace drover {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

struct RunsFlags {
  CommonFlags common;
  std::string state;
};

/// One run as it is listed. A run whose ledger cannot be read has only a problem and a size.
struct Listed {
  std::string name;
  std::string state;  // running, stopped, reading, succeeded, failed, cancelled or unreadable
  std::uint64_t size_bytes = 0;
  std::optional<Job> job;
  ItemCounts counts;
  std::string problem;
};

std::uint64_t size_of(const std::string& folder) {
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_regular_file(gone)) {
      if (const auto size = it->file_size(gone); !gone) total += size;
    }
  }
  return total;
}

std::optional<Listed> list_one(const CommonFlags& common, const std::string& name) {
  auto folder = RunFolder::look(data_root(common.data), name);
  if (!folder) return std::nullopt;  // it was removed meanwhile, or nothing was ever run in it
  Listed out{.name = name, .state = {}, .size_bytes = size_of(folder->path()), .job = {}, .counts = {}, .problem = {}};
  auto run = open_run(common, name);
  if (!run) {
    out.state = folder->holder() ? "reading" : "unreadable";
    if (!folder->holder()) out.problem = run.error().message;
    return out;
  }
  const bool is_held = run->holder.has_value() || run->folder.holder();
  auto counts = count_items(*run->reader, run->job, run->running().size());
  if (counts) out.counts = *counts;
  out.state = run->job.ended() ? std::string(to_string(run->job.state)) : is_held ? "running" : "stopped";
  out.job = std::move(run->job);
  return out;
}

json::object to_json(const Listed& run) {
  json::object out = run.job ? job_to_json(*run.job, run.counts) : json::object{};
  out["name"] = run.name;
  out["state"] = run.state;
  out["size_bytes"] = run.size_bytes;
  if (!run.problem.empty()) out["problem"] = run.problem;
  return out;
}

int list_runs(const RunsFlags& flags) {
  std::vector<Listed> runs;
  for (const std::string& name : RunFolder::all(data_root(flags.common.data))) {
    auto one = list_one(flags.common, name);
    if (one && (flags.state.empty() || one->state == flags.state)) runs.push_back(std::move(*one));
  }
  std::ranges::stable_sort(runs, std::greater(), [](const Listed& it) { return it.job ? it.job->created_ms : 0; });
  if (flags.common.json) {
    for (const Listed& run : runs) show("{}\n", json::serialize(to_json(run)));
    return kAllSucceeded;
  }
  const auto now_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  using enum Column::Align;
  Table table({{.title = "NAME", .cut = true},
               {.title = "STATE"},
               {.title = "AGE", .align = right},
               {.title = "ITEMS", .align = right},
               {.title = "SUCCEEDED", .align = right},
               {.title = "FAILED", .align = right},
               {.title = "SIZE", .align = right, .spare = 1}});
  for (const Listed& run : runs) {
    const auto count = [&](std::uint64_t value) { return run.job ? format_count(value) : std::string(); };
    table.add({run.name, run.state,
               run.job ? duration_words(static_cast<double>(now_ms - run.job->created_ms) / 1e3) : std::string(),
               count(run.job ? run.job->total : 0), count(run.counts.succeeded), count(run.counts.failed),
               format_size(run.size_bytes)});
  }
  table.print();
  for (const Listed& run : runs) {
    if (!run.problem.empty()) print_notice(fmt::format("run '{}': {}", run.name, run.problem));
  }
  return kAllSucceeded;
}

}  // namespace

void add_runs(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<RunsFlags>();
  Verb verb = app.add_subcommand("runs", "List the runs on this machine, newest first");
  add_common_flags(verb, flags->common);
  verb.add_option("--state", flags->state, "Show only runs in this state")
      .type_name("STATE")
      .one_of({"reading", "running", "stopped", "succeeded", "failed", "cancelled", "unreadable"});
  verb.footer("Examples:\n  drover runs\n  drover runs --state stopped --json");
  verb.callback([flags, &invocation] { invocation.exit_status = list_runs(*flags); });
}

}  // namespace drover
