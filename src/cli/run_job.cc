#include "cli/run_job.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>

#include <filesystem>

#include "base/units.h"
#include "cli/report.h"
#include "run/process_runner.h"
#include "store/sqlite_store.h"
#include "worker/local_run.h"

namespace drover {
namespace {

Result<Job> job_to_drive(LocalRun& run, StoreReader& reader, const std::optional<SubmitJob>& fresh,
                         const DriveOptions& options) {
  if (fresh) {
    auto accepted = run.engine().ask(*fresh);
    if (!accepted) return pass(accepted);
  }
  auto jobs = reader.jobs();
  if (!jobs) return pass(jobs);
  if (jobs->empty()) return fail(ErrorCode::not_found, "the run has no job", "type the whole 'drover run' line again");
  Job job = jobs->back();
  if (fresh) return job;

  std::vector<SettledItem> again;
  if (job.cancelled > 0 || (options.take_failed && job.failed > 0)) {
    auto settled = settled_items(reader, job.id, options.take_failed);
    if (!settled) return pass(settled);
    again = std::move(*settled);
  }
  if (job.ended() && again.empty() && job.succeeded + job.failed == job.total) return job;  // nothing is left to do
  auto reopened = run.engine().ask(ReopenJob{job.id, job.epoch, options.policy, std::move(again)});
  if (!reopened) return pass(reopened);
  jobs = reader.jobs();
  if (!jobs) return pass(jobs);
  return jobs->back();
}

// Kept for the loop to read. Until a job is driven a signal does what it always does. Before any thread starts.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
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

Result<int> drive(RunFolder& folder, Store& store, const std::optional<SubmitJob>& fresh, const DriveOptions& options) {
  block_signals();
  auto reader = open_sqlite_reader(folder.database());
  if (!reader) return pass(reader);
  ProcessRunner runner;
  Reporter reporter(options.flags, folder.name());
  RunEnd end = RunEnd::job_ended;
  {
    LocalRun run(
        folder, runner, **reader, {options.slots, options.out_dir},
        [&](const RunProgress& progress) { reporter.progress(progress); },
        [&](const std::string& text) { reporter.notice(text); });
    if (auto started = run.start(store); !started) return pass(started);
    auto job = job_to_drive(run, **reader, fresh, options);
    if (!job) return pass(job);
    reporter.started(*job, options.resumed);
    if (!job->ended()) {
      auto ended = run.run(*job);
      reporter.clear_line();
      if (!ended) {
        Error error = ended.error();
        if (error.code == ErrorCode::no_space || error.code == ErrorCode::io) {
          error.message += "; the run has stopped, and what it had not recorded will run again";
          const std::string_view first = error.code == ErrorCode::no_space ? "free some space" : "put that right";
          error.next = fmt::format("{}, then: drover resume {}", first, folder.name());
        }
        return std::unexpected(std::move(error));
      }
      end = *ended;
    }
  }
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);
  const Job& job = jobs->back();
  if (auto printed = reporter.summary(**reader, job, end == RunEnd::interrupted); !printed) return pass(printed);
  if (end == RunEnd::interrupted) return kInterrupted;
  return job.state == JobState::succeeded ? kAllSucceeded : kSomeDidNot;
}

}  // namespace drover
