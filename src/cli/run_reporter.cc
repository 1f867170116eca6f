#include "cli/run_reporter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/notices_in_background.h"
#include "cli/print.h"
#include "cli/server_client.h"
#include "screen/layout.h"
#include "screen/plain_text.h"
#include "screen/time_left.h"
#include "screen/time_words.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::chrono::seconds kLineEvery{10};
constexpr std::chrono::seconds kEventEvery{1};
constexpr std::chrono::seconds kCountEvery{2};
constexpr std::size_t kMostGroups = 10;

std::uint64_t done_of(const Job& job) {
  return job.succeeded + job.failed + job.cancelled;
}

// Others have written to the terminal since we last did: ^Z, and fg.
volatile std::sig_atomic_t was_stopped = 0;

std::string kind_of(const Outcome& outcome) {
  return failure_kind(outcome.ending, outcome.exit_code, outcome.signal);
}

/// What adds to how they ended: not that a signal killed what signal 9 killed.
std::string said_last(const FailureGroup& group) {
  const std::string& text = group.example_text;
  if (group.shape.empty() && (text.ends_with(group.what) || text.starts_with("exited with code "))) {
    return ", without output";
  }
  const std::string words = plain_text(after_last_return(text), 100);
  // Some say themselves how it ended: "timed out after 5 s".
  if (!words.starts_with(group.what)) return fmt::format(": {}", words);
  return words.substr(group.what.size());
}

}  // namespace

Reporter::Reporter(const CommonFlags& flags, std::string name, StoreReader& reader, std::FILE* summary_to)
    : flags_(flags), name_(std::move(name)), reader_(reader), summary_to_(summary_to) {
  if (flags.json) events_ = std::make_unique<JsonEvents>();
  if (flags.json || flags.quiet || summary_to != stdout || !can_draw_on(STDERR_FILENO)) return;
  flush_notices();
  block_ = std::make_unique<LiveBlock>(STDERR_FILENO);
  std::signal(SIGCONT, [](int) { was_stopped = 1; });
}

double Reporter::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begun_).count();
}

void Reporter::started(const Job& job, bool resumed) {
  done_at_start_ = done_of(job);
  rate_.note(seconds(), done_at_start_);
  if (flags_.json) {
    events_->write({{"event", "started"},
                    {"id", job.uuid.text()},
                    {"name", job.name},
                    {"total", job.total},
                    {"left", job.total - done_of(job)},
                    {"resumed", resumed}});
  } else if (resumed) {
    notice(fmt::format("run '{}' resumed: {} of {} left", name_, format_count(job.total - done_of(job)),
                       plural(job.total, "item")));
  } else {
    notice(fmt::format("run '{}': {}", name_, plural(job.total, "item")));
  }
}

// How many wait for a retry stands in the ledger; asking it each time would be much for a number.
void Reporter::count_waiting(const Job& job) {
  if (Clock::now() - last_count_ < kCountEvery) return;
  last_count_ = Clock::now();
  if (const auto counts = count_items(reader_, job, 0)) waiting_ = counts->waiting;
}

RunView Reporter::view(const RunProgress& progress) {
  const Job& job = progress.job;
  const RunStatistics& seen = progress.statistics;
  count_waiting(job);
  RunView view;
  view.name = name_;
  view.total = job.total;
  view.succeeded = job.succeeded;
  view.failed = job.failed;
  view.cancelled = job.cancelled;
  const std::uint64_t left = job.total - std::min(job.total, done_of(job));
  view.running = std::min<std::uint64_t>(progress.running, left);
  view.waiting = std::min(waiting_, left - view.running);
  view.pending = left - view.running - view.waiting;
  view.elapsed_s = seconds();
  view.rate = rate_.note(seconds(), done_of(job));
  view.slots = progress.slots;
  view.cpu_cores = seen.cpu_cores();
  view.memory_bytes = seen.memory_bytes();
  view.machine_memory_bytes = machine_memory_bytes();
  if (progress.draining) {
    // Within 80 columns: what is cut off would be what the user can do.
    view.state_note = fmt::format("draining: {} still running; Ctrl-C again to kill {}",
                                  plural(progress.running, "item"), progress.running == 1 ? "it" : "them");
  } else if (!progress.holding.empty()) {
    view.state_note = fmt::format("not starting new items: {}", progress.holding);
  }
  WorkLeft work{
      .not_started = progress.draining ? 0 : view.pending + view.waiting, .slots = progress.slots, .rate = view.rate};
  for (const RunningItem& item : progress.longest) {
    work.running_s.push_back(item.seconds);
    if (view.longest.size() < 10)
      view.longest.push_back({item.item.value, item.attempt.value, item.text, item.seconds});
  }
  if (seen.ended() > 0) {
    const auto in_s = [](std::int64_t us) { return static_cast<double>(us) / 1e6; };
    work.seen = {seen.ended(), in_s(seen.wall_sum_us()) / static_cast<double>(seen.ended()),
                 in_s(seen.wall_us().quantile(0.5)), in_s(seen.wall_us().quantile(0.95)), in_s(seen.wall_us().max())};
  }
  view.left = estimate_time_left(work);
  for (const FailedAttempt& failed : seen.last_failures()) {
    view.last_failures.push_back({failed.item.value, failed.attempt.value, kind_of(failed.outcome),
                                  failed.last_line.empty() ? failed.outcome.reason : failed.last_line,
                                  failed.will_retry});
  }
  return view;
}

void Reporter::progress(const RunProgress& progress) {
  if (was_stopped != 0) {
    was_stopped = 0;
    if (block_) block_->forget();
  }
  if (block_) return block_->draw(lay_out(view(progress), block_->size(), wanted_colours()));
  if (flags_.quiet && !flags_.json) return;
  const auto now = Clock::now();
  if (now - last_line_ < (flags_.json ? kEventEvery : kLineEvery)) return;
  last_line_ = now;
  if (flags_.json) {
    print_progress_event(progress);
  } else {
    print_progress_line(progress);
  }
}

void Reporter::print_progress_event(const RunProgress& progress) {
  const RunView now = view(progress);
  json::object event{{"event", "progress"},         {"total", now.total},         {"succeeded", now.succeeded},
                     {"failed", now.failed},        {"cancelled", now.cancelled}, {"running", now.running},
                     {"waiting", now.waiting},      {"pending", now.pending},     {"seconds", now.elapsed_s},
                     {"items_per_second", now.rate}};
  const auto* range = now.left ? std::get_if<TimeRange>(&*now.left) : nullptr;
  event["left_seconds_low"] = range != nullptr ? json::value(range->low_s) : json::value(nullptr);
  event["left_seconds_high"] = range != nullptr ? json::value(range->high_s) : json::value(nullptr);
  events_->write(event);
}

void Reporter::print_progress_line(const RunProgress& progress) {
  const RunView now = view(progress);
  std::string line = fmt::format("{} of {} done, {} failed, {} running, {:.{}f} items/s",
                                 format_count(now.succeeded + now.failed + now.cancelled), format_count(now.total),
                                 format_count(now.failed), now.running, now.rate, now.rate < 10 ? 1 : 0);
  if (now.left) line += fmt::format(", {}", time_left_words(*now.left));
  if (!now.state_note.empty()) line += fmt::format("; {}", now.state_note);
  print_notice(line);
}

void Reporter::failed(const FailedAttempt& failed) {
  if (!flags_.json) return;
  const auto or_null = [](bool present, std::int32_t number) {
    return present ? json::value(number) : json::value(nullptr);
  };
  events_->write({{"event", "failed"},
                  {"item", failed.item.value},
                  {"attempt", failed.attempt.value},
                  {"ending", std::string(to_string(failed.outcome.ending))},
                  {"exit_code", or_null(failed.outcome.ending == Ending::exited, failed.outcome.exit_code)},
                  {"signal", or_null(failed.outcome.signal != 0, failed.outcome.signal)},
                  {"reason", utf8(describe(failed.outcome))},
                  {"last_line", utf8(failed.last_line)}});
}

void Reporter::clear() {
  if (block_ && was_stopped != 0) block_->forget();
  was_stopped = 0;
  if (block_) block_->erase();
}

void Reporter::notice(const std::string& text) {
  if (flags_.quiet) return;
  if (block_) {
    block_->print_above(fmt::format("drover: {}", text));
  } else {
    print_notice(text);
  }
}

Result<void> Reporter::summary(const Job& job, bool interrupted) {
  clear();
  auto counts = count_items(reader_, job, 0);
  if (!counts) return pass(counts);
  if (flags_.quiet && !flags_.json) return {};
  auto summary = summarize(reader_, job.id);
  if (!summary) return pass(summary);
  flush_notices();
  if (flags_.json) {
    print_summary_event(job, interrupted, *counts, *summary);
  } else {
    print_summary(job, interrupted, *counts, *summary);
  }
  flush_output();
  return {};
}

void Reporter::print_summary_event(const Job& job, bool interrupted, const ItemCounts& counts,
                                   const RunSummary& summary) {
  json::object out = job_to_json(job, counts);
  json::array failures;
  for (const FailureGroup& group : summary.failures) {
    failures.push_back(json::object{{"what", group.what},
                                    {"shape", utf8(group.shape)},
                                    {"items", group.items},
                                    {"example_item", group.example.value},
                                    {"example_attempt", group.example_attempt.value},
                                    {"example_reason", utf8(group.example_text)}});
  }
  const auto quantiles = [](const Histogram& histogram) {
    return json::object{{"p50", histogram.quantile(0.5)}, {"p95", histogram.quantile(0.95)}, {"max", histogram.max()}};
  };
  out["event"] = "summary";
  out["seconds"] = seconds();
  out["interrupted"] = interrupted;
  out["attempts"] = summary.attempts;
  out["cpu_seconds"] = static_cast<double>(summary.cpu_us) / 1e6;
  out["wall_us"] = quantiles(summary.wall_us);
  out["peak_memory_kib"] = quantiles(summary.memory_kib);
  out["read_bytes"] = summary.read_bytes;
  out["written_bytes"] = summary.written_bytes;
  out["log_bytes"] = summary.log_bytes;
  out["failures"] = std::move(failures);
  events_->flush();
  show("{}\n", json::serialize(out));
}

void Reporter::print_summary(const Job& job, bool interrupted, const ItemCounts& counts,
                             const RunSummary& summary) const {
  const auto say = [this]<class... Values>(fmt::format_string<Values...> format, Values&&... values) {
    show_on(summary_to_, format, std::forward<Values>(values)...);
  };
  const std::string_view state = interrupted ? "interrupted" : to_string(job.state);
  say("run '{}' {}: {} succeeded, {} failed", name_, state, format_count(counts.succeeded),
      format_count(counts.failed));
  if (counts.cancelled > 0) say(", {} cancelled", format_count(counts.cancelled));
  if (counts.pending + counts.waiting > 0) say(", {} left", format_count(counts.pending + counts.waiting));
  say(" of {}\n", plural(job.total, "item"));
  if (!job.reason.empty()) say("  {}\n", job.reason);
  say("  {:<10} {} wall, {} CPU in {}\n", "time", format_duration_us(static_cast<std::int64_t>(seconds() * 1e6)),
      format_duration_us(summary.cpu_us), plural(summary.attempts, "attempt"));
  const auto row = [&](const char* what, const Histogram& histogram, auto&& format) {
    if (histogram.count() == 0) return;
    say("  {:<10} p50 {}, p95 {}, max {}\n", what, format(histogram.quantile(0.5)), format(histogram.quantile(0.95)),
        format(histogram.max()));
  };
  row("duration", summary.wall_us, format_duration_us);
  row("memory", summary.memory_kib,
      [](std::int64_t kib) { return format_size(static_cast<std::uint64_t>(kib) * 1024); });
  if (summary.read_bytes + summary.written_bytes > 0) {
    say("  {:<10} {} read, {} written\n", "disk", format_size(static_cast<std::uint64_t>(summary.read_bytes)),
        format_size(static_cast<std::uint64_t>(summary.written_bytes)));
  }
  if (summary.log_bytes > 0) {
    say("  {:<10} {} printed; see it: drover logs {}{}\n", "output", format_size(summary.log_bytes), name_,
        local_suffix());
  }
  if (!summary.failures.empty()) say("  failures\n");
  for (std::size_t i = 0; i < summary.failures.size() && i < kMostGroups; ++i) {
    const FailureGroup& group = summary.failures[i];
    say("  {:>10}  {}{}\n", format_count(group.items), group.what, said_last(group));
    say("  {:>10}  see one: drover logs {}:{}{}\n", "", name_, group.example.value, local_suffix());
  }
  if (summary.failures.size() > kMostGroups) {
    say("  {:>10}  and {} more kinds of failure\n", "", summary.failures.size() - kMostGroups);
  }
  if (interrupted || (job.ended() && counts.cancelled > 0)) say("  resume with: drover resume {}\n", name_);
  if (counts.failed > 0) say("  retry the failed items with: drover retry {}{}\n", name_, local_suffix());
}

}  // namespace drover
