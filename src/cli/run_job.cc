#include "cli/run_job.h"

#include <fmt/format.h>
#include <sched.h>

#include <filesystem>

#include "base/units.h"
#include "cli/image_here.h"
#include "cli/opened_run.h"
#include "cli/run_reporter.h"
#include "ports/reopen_page.h"
#include "store/sqlite_store.h"
#include "wire/definition.h"
#include "worker/item_list.h"
#include "worker/local_run.h"

namespace drover {
namespace {

Result<Job> job_to_drive(LocalRun& run, StoreReader& reader, const std::optional<SubmitJob>& fresh,
                         const DriveOptions& options, const std::string& name) {
  if (fresh) {
    auto accepted = run.engine().ask(*fresh);
    if (!accepted) return pass(accepted);
  }
  auto jobs = reader.jobs();
  if (!jobs) return pass(jobs);
  if (jobs->empty()) return std::unexpected(list_not_read(name));
  Job job = jobs->back();
  if (fresh) return job;

  ReopenJob command{.job = job.id, .epoch = job.epoch, .policy = std::nullopt, .again = {}};
  const bool takes_some = job.cancelled > 0 || (options.take_failed && job.failed > 0);
  // A retry that is under way goes on by itself.
  if (takes_some && !job.reopening) {
    auto first = begin_reopening(reader, job, {.failed = options.take_failed});
    if (!first) return pass(first);
    command = std::move(*first);
  }
  command.policy = options.policy;
  if (job.ended() && !takes_some && job.succeeded + job.failed == job.total) return job;  // nothing is left to do
  auto reopened = run.engine().ask(command);
  if (!reopened) return pass(reopened);
  jobs = reader.jobs();
  if (!jobs) return pass(jobs);
  return jobs->back();
}

// The job's image, if it has one.
Result<std::shared_ptr<const ContainerPlan>> container_of(StoreReader& reader, const std::optional<SubmitJob>& fresh,
                                                          const std::string& root, MachineRunner& runner, bool quiet) {
  auto jobs = reader.jobs();
  if (!jobs) return pass(jobs);
  if (!fresh && jobs->empty()) return nullptr;
  auto text = reader.definition(fresh ? fresh->definition : jobs->back().definition);
  if (!text) return pass(text);
  auto definition = definition_from_json(*text);
  if (!definition) return pass(definition);
  const auto& container = definition->container;
  if (!container) return nullptr;
  return image_here(root, runner, *container, quiet);
}

// Limits that are asked for are held by different means on different machines; people should know by which.
Result<void> say_limits(StoreReader& reader, const Job& job, const DriveOptions& options, const MachineRunner& runner,
                        Reporter& reporter) {
  auto text = reader.definition(job.definition);
  if (!text) return pass(text);
  auto definition = definition_from_json(*text);
  if (!definition) return pass(definition);
  const ItemLimits limits = options.limits.value_or(definition->limits);
  std::string what;
  if (limits.memory_bytes > 0) what += fmt::format("{} of memory", format_size(limits.memory_bytes));
  if (limits.milli_cpus > 0) {
    what += fmt::format("{}{:g} CPUs", what.empty() ? "" : " and ", static_cast<double>(limits.milli_cpus) / 1000);
  }
  if (!what.empty()) reporter.notice(fmt::format("limit per item: {}, enforced by {}", what, runner.limits_by()));
  return {};
}

}  // namespace

Result<void> make_out_dir(const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return std::unexpected(errno_error(error.value(), fmt::format("--out {}", path), "choose another folder"));
  return {};
}

std::size_t default_slots() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
}

Result<std::unique_ptr<Store>> open_store(const RunFolder& folder) {
  return open_sqlite_store(folder.database(), [path = folder.database()](std::int64_t waited_ms) {
    print_notice(fmt::format("{}: another program has held its write lock for {} s; waiting", path, waited_ms / 1000));
  });
}

void add_print_flags(const Verb& verb, PrintFlags& flags) {
  verb.add_flag("--print", flags.print,
                "Print each item's output when the item has ended; the summary goes to standard error");
  verb.add_flag("--keep-order", flags.keep_order, "With --print: print in the order of the list");
}

Result<std::optional<PrintOrder>> print_order(const PrintFlags& flags, const CommonFlags& common) {
  if (flags.keep_order && !flags.print) {
    return fail(ErrorCode::bad_input, "--keep-order requires --print", "add --print, or omit --keep-order");
  }
  if (flags.print && common.json) {
    return fail(ErrorCode::bad_input, "--print cannot be combined with --json: both write to standard output",
                "omit one of them; 'drover logs --json' prints the output of items as JSON");
  }
  if (!flags.print) return std::nullopt;
  return flags.keep_order ? PrintOrder::by_item : PrintOrder::as_they_end;
}

namespace {

/// Which items ended before: with --keep-order nobody waits for their output.
Result<std::vector<bool>> settled_items(StoreReader& reader, const Job& job) {
  std::vector<bool> settled(job.total, false);
  auto listed = list_items(reader, job, {}, {}, [&](const ListedItem& item) {
    settled[item.item.value] = item.state == ItemState::succeeded || item.state == ItemState::failed;
    return true;
  });
  if (!listed) return pass(listed);
  return settled;
}

}  // namespace

Result<int> drive(RunFolder& folder, Store& store, const std::optional<SubmitJob>& fresh, const DriveOptions& options) {
  auto reader = open_sqlite_reader(folder.database());
  if (!reader) return pass(reader);
  const std::string root = data_root(options.flags.data);
  MachineRunner runner(containers_folder(root));
  auto container = container_of(**reader, fresh, root, runner, options.flags.quiet || options.flags.json);
  if (!container) return pass(container);
  block_signals();
  Reporter reporter(options.flags, folder.name(), **reader, options.print ? stderr : stdout);
  RunEnd end = RunEnd::job_ended;
  std::unique_ptr<OutputPrinter> printer;
  {
    LocalRun run(folder, runner, **reader,
                 {options.devices ? options.devices->grants.size() : options.slots, options.out_dir, options.limits,
                  options.shortage, reporter.shows_use(), *container, options.devices},
                 {.progress = [&](const RunProgress& progress) { reporter.progress(progress); },
                  .failed = [&](const FailedAttempt& failed) { reporter.failed(failed); },
                  .notice = [&](const std::string& text) { reporter.notice(text); },
                  .output = options.print ? [&](FinishedOutput output) { printer->add(std::move(output)); }
                                          : std::function<void(FinishedOutput)>()});
    if (auto started = run.start(store); !started) return pass(started);
    auto job = job_to_drive(run, **reader, fresh, options, folder.name());
    if (!job) return pass(job);
    reporter.started(*job, options.resumed);
    if (job->ended() && options.resumed && job->failed > 0) {
      reporter.notice(
          fmt::format("no items are left to run, so the flags have no effect; run the failed items "
                      "again with new limits: drover retry {} --memory SIZE --timeout TIME",
                      folder.name()));
    } else if (auto said = say_limits(**reader, *job, options, runner, reporter); !said) {
      return pass(said);
    }
    if (options.print) {
      auto settled = *options.print == PrintOrder::by_item && options.resumed ? settled_items(**reader, *job)
                                                                              : std::vector<bool>();
      if (!settled) return pass(settled);
      printer = std::make_unique<OutputPrinter>(folder.logs(), *options.print, std::move(*settled));
    }
    if (!job->ended()) {
      auto ended = run.run(*job);
      reporter.clear();
      if (!ended) {
        Error error = ended.error();
        if (error.code == ErrorCode::no_space || error.code == ErrorCode::io) {
          error.message += "; the run has stopped, and items whose outcome was not recorded will run again";
          const std::string_view first = error.code == ErrorCode::no_space ? "free some disk space" : "fix the problem";
          error.next = fmt::format("{}, then: drover resume {}", first, folder.name());
        }
        return std::unexpected(std::move(error));
      }
      end = *ended;
    }
  }
  if (printer) {
    if (auto printed = printer->finish(); !printed) return pass(printed);
  }
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);
  const Job& job = jobs->back();
  if (auto printed = reporter.summary(job, end == RunEnd::interrupted); !printed) return pass(printed);
  if (end == RunEnd::interrupted) return kInterrupted;
  return job.state == JobState::succeeded ? kAllSucceeded : kSomeDidNot;
}

}  // namespace drover
