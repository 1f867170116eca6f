#include "screen/jobs_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "screen/bar.h"
#include "screen/cells.h"
#include "screen/plain_text.h"
#include "screen/time_words.h"

namespace drover {
namespace {

constexpr std::size_t kColumnGap = 2;
constexpr std::size_t kPercentCells = 6;
constexpr std::size_t kRateCells = 9;  // "cancelled" is the longest state
constexpr std::size_t kLeftCells = 12;
constexpr std::size_t kNarrowestBar = 8;
constexpr std::size_t kWidestBar = 40;
constexpr std::size_t kWidestName = 32;

using JobLine = JobsView::JobLine;
using WorkerLine = JobsView::WorkerLine;

std::uint64_t done(const JobLine& job) {
  return job.succeeded + job.failed + job.cancelled;
}

// Rounded down: 100 % is for one that is done.
std::string percent(const JobLine& job) {
  if (job.total == 0 || done(job) >= job.total) return "100 %";
  return fmt::format("{:.1f} %",
                     std::floor(static_cast<double>(done(job)) * 1000 / static_cast<double>(job.total)) / 10);
}

std::string progress(const JobLine& job) {
  return fmt::format("{}/{}", format_count(done(job)), format_count(job.total));
}

// The column says of what: "65/s" for "65 items/s".
std::string short_rate(double rate) {
  std::string words = rate_words(rate);
  const std::size_t unit = words.find(" items");
  return unit == std::string::npos ? words : words.erase(unit, 6);
}

std::string left_words(const JobLine& job) {
  if (!job.left) return "";
  if (!std::holds_alternative<TimeRange>(*job.left)) return "not known";
  std::string words = time_left_words(*job.left);
  if (words.ends_with(" left")) words.resize(words.size() - 5);
  return words;
}

Style style_of(const JobLine& job) {
  return job.state == "succeeded" ? Style::good : job.state == "failed" ? Style::bad : Style::warning;
}

/// Where the columns of the jobs begin, for a width.
struct JobColumns {
  std::size_t name = 4;
  std::size_t bar = 0;
  std::size_t done = 4;
  std::size_t failed = 6;
  std::size_t running = 7;  // 0: there is no room for it

  JobColumns(const std::vector<JobLine>& jobs, std::size_t cells) {
    for (const JobLine& job : jobs) {
      name = std::max(name, cells_of(job.name));
      done = std::max(done, progress(job).size());
      failed = std::max(failed, format_count(job.failed).size());
      running = std::max(running, format_count(job.running).size());
    }
    name = std::min({name, kWidestName, std::max<std::size_t>(cells / 6, 8)});
    const std::size_t others = name + kPercentCells + done + failed + kRateCells + kLeftCells + 6 * kColumnGap;
    if (cells < others + running + kColumnGap + kNarrowestBar) running = 0;
    const std::size_t taken = others + (running > 0 ? running + kColumnGap : 0);
    bar = cells >= taken + kNarrowestBar ? std::min(cells - taken, kWidestBar) : 0;
  }
};

void add_right(StyledLine& line, std::size_t width, std::string_view text, Style style = Style::plain) {
  const std::size_t at = line.cells();
  const std::size_t wide = cells_of(text);
  line.skip_to(at + width - std::min(width, wide));
  line.add(text, style);
  line.skip_to(at + width + kColumnGap);
}

void add_left(StyledLine& line, std::size_t width, std::string_view text, Style style = Style::plain) {
  const std::size_t at = line.cells();
  line.add(plain_text(text, width), style);
  line.skip_to(at + width + kColumnGap);
}

std::string job_heading(const JobColumns& columns, std::size_t cells, Colours colours) {
  StyledLine line(cells, colours);
  add_left(line, columns.name, "JOB", Style::faint);
  if (columns.bar > 0) add_left(line, columns.bar, "", Style::faint);
  add_right(line, kPercentCells, "", Style::faint);
  add_right(line, columns.done, "DONE", Style::faint);
  add_right(line, columns.failed, "FAILED", Style::faint);
  if (columns.running > 0) add_right(line, columns.running, "RUNNING", Style::faint);
  add_right(line, kRateCells, "RATE", Style::faint);
  line.add("TIME LEFT", Style::faint);
  return line.take();
}

std::string job_line(const JobLine& job, const JobColumns& columns, std::size_t cells, Colours colours) {
  StyledLine line(cells, colours);
  add_left(line, columns.name, job.name, job.has_ended() ? Style::plain : Style::strong);
  if (columns.bar > 0) {
    line.add("▕", Style::faint);
    line.add_as_is(draw_bar({job.failed, job.succeeded, job.cancelled, job.total}, columns.bar - 2, colours),
                   columns.bar - 2);
    line.add("▏", Style::faint);
    line.skip_to(line.cells() + kColumnGap);
  }
  add_right(line, kPercentCells, percent(job));
  add_right(line, columns.done, progress(job));
  add_right(line, columns.failed, format_count(job.failed), job.failed > 0 ? Style::bad : Style::faint);
  if (columns.running > 0) {
    add_right(line, columns.running, format_count(job.running), job.running > 0 ? Style::plain : Style::faint);
  }
  if (job.has_ended()) {
    add_right(line, kRateCells, job.state, style_of(job));
    line.add(fmt::format("{} ago", duration_words(job.ended_ago_s)), Style::faint);
  } else if (!job.note.empty()) {
    line.add(fmt::format("{}{}", job.note.starts_with("waits ") ? "" : "waits: ", plain_text(job.note)),
             Style::warning);
  } else {
    add_right(line, kRateCells,
              job.rate > 0      ? short_rate(job.rate)
              : job.running > 0 ? ""
                                : "waits",
              job.rate > 0 ? Style::plain : Style::warning);
    line.add(left_words(job));
  }
  return line.take();
}

struct WorkerColumns {
  std::size_t name = 6;
  std::size_t memory = 9;

  explicit WorkerColumns(const std::vector<WorkerLine>& workers) {
    for (const WorkerLine& it : workers) {
      name = std::max(name, std::min(cells_of(it.name), kWidestName));
      memory = std::max(memory, it.memory.size());
    }
  }
};

std::string worker_line(const WorkerLine& worker, const WorkerColumns& columns, Style style, std::size_t cells,
                        Colours colours) {
  StyledLine line(cells, colours);
  add_left(line, columns.name, worker.name, style);
  add_right(line, 6, worker.cpus, style);
  add_right(line, columns.memory, worker.memory, style);
  const std::string seen = style == Style::faint    ? "SEEN"
                           : !worker.coming.empty() ? worker.coming
                           : !worker.seen_ago_s     ? "-"
                                                    : fmt::format("{} ago", duration_words(*worker.seen_ago_s));
  if (!worker.coming.empty()) style = Style::faint;
  const bool is_late = worker.seen_ago_s && *worker.seen_ago_s > 30;
  add_left(line, 16, seen, is_late ? Style::warning : style);
  add_left(line, 10, worker.version, style);
  line.add(plain_text(worker.labels), style);
  return line.take();
}

std::string title_line(const JobsView& view, std::size_t cells, Colours colours) {
  const auto running =
      static_cast<std::uint64_t>(std::ranges::count_if(view.jobs, [](const JobLine& it) { return !it.has_ended(); }));
  const auto coming = static_cast<std::uint64_t>(
      std::ranges::count_if(view.workers, [](const WorkerLine& it) { return !it.coming.empty(); }));
  StyledLine line(cells, colours);
  line.add(plain_text(view.server, cells / 2), Style::strong);
  line.skip_to(line.cells() + kColumnGap);
  if (view.note.empty()) {
    line.add(fmt::format("{} running, {}{} ended, {}", format_count(running), view.more_jobs ? "over " : "",
                         format_count(view.jobs.size() - running), plural(view.workers.size() - coming, "worker")));
    if (coming > 0) line.add(fmt::format(", {} coming", plural(coming, "machine")));
  } else {
    line.add(plain_text(view.note), Style::bad);
  }
  if (line.room() > view.clock.size() + kColumnGap) {
    line.skip_to(cells - view.clock.size());
    line.add(view.clock, Style::faint);
  }
  return line.take();
}

}  // namespace

std::vector<std::string> lay_out_jobs(const JobsView& view, ScreenSize size, Colours colours) {
  const std::size_t cells = std::max<std::size_t>(size.columns, 2) - 1;
  std::vector<std::string> lines{title_line(view, cells, colours)};
  const auto say = [&](std::string_view text, Style style) {
    StyledLine line(cells, colours);
    line.add(text, style);
    lines.push_back(line.take());
  };
  // Title, two headings with an empty line before each, and the last line.
  constexpr std::size_t kFixed = 6;
  const std::size_t room = size.rows > kFixed ? size.rows - kFixed : 0;
  const std::size_t for_workers =
      std::min(view.workers.size(), std::max(room / 4, room - std::min(room, view.jobs.size())));
  const std::size_t for_jobs = std::min(view.jobs.size(), room - std::min(room, for_workers));

  lines.emplace_back();
  if (view.jobs.empty()) {
    say("no jobs yet: submit one with 'drover submit'", Style::faint);
  } else {
    const std::vector<JobLine> shown(view.jobs.begin(), view.jobs.begin() + static_cast<std::ptrdiff_t>(for_jobs));
    const JobColumns columns(shown, cells);
    lines.push_back(job_heading(columns, cells, colours));
    for (const JobLine& job : shown) lines.push_back(job_line(job, columns, cells, colours));
  }
  lines.emplace_back();
  if (view.workers.empty()) {
    say("no workers: start one with 'drover worker'", Style::warning);
  } else {
    const WorkerColumns columns(view.workers);
    lines.push_back(
        worker_line({"WORKER", "CPUS", "MEMORY", "VERSION", "LABELS", {}, {}}, columns, Style::faint, cells, colours));
    for (std::size_t i = 0; i < for_workers; ++i) {
      lines.push_back(worker_line(view.workers[i], columns, Style::plain, cells, colours));
    }
  }
  std::string last = "q: quit";
  const std::size_t hidden_jobs = view.jobs.size() - for_jobs;
  const std::size_t hidden_workers = view.workers.size() - for_workers;
  if (hidden_jobs > 0) last += fmt::format("; {} more", plural(hidden_jobs, "job"));
  if (hidden_workers > 0) last += fmt::format("; {} more", plural(hidden_workers, "worker"));
  say(last, Style::faint);
  if (lines.size() > size.rows) lines.resize(std::max<std::size_t>(size.rows, 1));
  return lines;
}

}  // namespace drover
