#include "cli/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>

#include "base/units.h"
#include "cli/print.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::chrono::seconds kPlainEvery{10};
constexpr std::size_t kMostGroups = 10;

std::uint64_t done(const Job& job) {
  return job.succeeded + job.failed + job.cancelled;
}

std::string first_line(const std::string& text, std::size_t most) {
  std::string line = utf8(text.substr(0, text.find('\n')));
  if (line.size() > most) line = line.substr(0, most) + "…";
  return line;
}

}  // namespace

std::string utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                               : lead >= 0xe0                ? 3
                               : lead >= 0xc2                ? 2
                                                             : 0;
    bool whole = length > 0 && lead < 0xf5 && at + length <= bytes.size();
    std::uint32_t point = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t i = 1; whole && i < length; ++i) {
      const auto next = static_cast<unsigned char>(bytes[at + i]);
      whole = (next & 0xc0) == 0x80;
      point = point << 6 | (next & 0x3fU);
    }
    // Overlong forms and surrogates are not text either.
    if (whole && ((length == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) ||
                  (length == 4 && (point < 0x10000 || point > 0x10ffff)))) {
      whole = false;
    }
    if (whole) {
      out += bytes.substr(at, length);
      at += length;
    } else {
      out += "\xef\xbf\xbd";
      ++at;
    }
  }
  return out;
}

json::object job_to_json(const Job& job, const ItemCounts& counts) {
  return {{"id", job.uuid.text()},
          {"name", job.name},
          {"state", std::string(to_string(job.state))},
          {"total", job.total},
          {"counts", json::object{{"pending", counts.pending},
                                  {"waiting", counts.waiting},
                                  {"running", counts.running},
                                  {"succeeded", counts.succeeded},
                                  {"failed", counts.failed},
                                  {"cancelled", counts.cancelled}}},
          {"reason", job.reason.empty() ? json::value(nullptr) : json::value(utf8(job.reason))},
          {"created_ms", job.created_ms},
          {"ended_ms", job.ended_ms == 0 ? json::value(nullptr) : json::value(job.ended_ms)},
          {"queue", nullptr}};
}

Reporter::Reporter(const CommonFlags& flags, std::string name)
    : flags_(flags), name_(std::move(name)), terminal_(isatty(STDERR_FILENO) == 1) {}

double Reporter::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

void Reporter::started(const Job& job, bool resumed) {
  done_at_start_ = done(job);
  if (flags_.json) {
    show("{}\n", json::serialize(json::object{{"event", "started"},
                                              {"id", job.uuid.text()},
                                              {"name", job.name},
                                              {"total", job.total},
                                              {"left", job.total - done(job)},
                                              {"resumed", resumed}}));
    std::fflush(stdout);
    return;
  }
  if (flags_.quiet) return;
  if (resumed) {
    print_notice(fmt::format("run '{}' goes on: {} of {} left", name_, format_count(job.total - done(job)),
                             plural(job.total, "item")));
  } else {
    print_notice(fmt::format("run '{}': {}", name_, plural(job.total, "item")));
  }
}

void Reporter::progress(const RunProgress& progress) {
  if (flags_.json || flags_.quiet) return;
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_) {
    if (now - last_plain_ < kPlainEvery) return;
    last_plain_ = now;
  }
  const Job& job = progress.job;
  const double elapsed = seconds();
  const double rate = elapsed > 0 ? static_cast<double>(done(job) - std::min(done(job), done_at_start_)) / elapsed : 0;
  std::string line =
      fmt::format("{}/{} done, {} failed, {} running, {:.{}f} items/s", format_count(done(job)),
                  format_count(job.total), format_count(job.failed), progress.running, rate, rate < 10 ? 1 : 0);
  if (rate > 0 && done(job) < job.total && !progress.draining) {
    const double left = static_cast<double>(job.total - done(job)) / rate;
    line += fmt::format(", about {} left", format_duration_us(static_cast<std::int64_t>(left * 1e6)));
  }
  if (progress.draining) line += ", draining";
  if (terminal_) {
    show_on(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
    line_shown_ = true;
  } else {
    print_notice(line);
  }
}

void Reporter::clear_line() {
  if (!line_shown_) return;
  show_on(stderr, "\r\x1b[K");
  std::fflush(stderr);
  line_shown_ = false;
}

void Reporter::notice(const std::string& text) {
  clear_line();
  if (!flags_.quiet) print_notice(text);
}

Result<void> Reporter::summary(StoreReader& reader, const Job& job, bool interrupted) {
  clear_line();
  auto counts = count_items(reader, job, 0);
  if (!counts) return pass(counts);
  if (flags_.quiet && !flags_.json) return {};
  auto summary = summarize(reader, job.id);
  if (!summary) return pass(summary);

  if (flags_.json) {
    json::object out = job_to_json(job, *counts);
    json::array failures;
    for (const FailureGroup& group : summary->failures) {
      failures.push_back(json::object{{"what", group.what},
                                      {"items", group.items},
                                      {"example_item", group.example.value},
                                      {"example_reason", utf8(group.example_reason)}});
    }
    const auto quantiles = [](const Histogram& histogram) {
      return json::object{
          {"p50", histogram.quantile(0.5)}, {"p95", histogram.quantile(0.95)}, {"max", histogram.max()}};
    };
    out["event"] = "summary";
    out["seconds"] = seconds();
    out["interrupted"] = interrupted;
    out["attempts"] = summary->attempts;
    out["cpu_seconds"] = static_cast<double>(summary->cpu_us) / 1e6;
    out["wall_us"] = quantiles(summary->wall_us);
    out["peak_memory_kib"] = quantiles(summary->memory_kib);
    out["failures"] = std::move(failures);
    show("{}\n", json::serialize(out));
    std::fflush(stdout);
    return {};
  }

  const std::string_view state = interrupted ? "interrupted" : to_string(job.state);
  show("run '{}' {}: {} succeeded, {} failed", name_, state, format_count(counts->succeeded),
       format_count(counts->failed));
  if (counts->cancelled > 0) show(", {} cancelled", format_count(counts->cancelled));
  if (counts->pending + counts->waiting > 0) show(", {} left", format_count(counts->pending + counts->waiting));
  show(" of {}\n", plural(job.total, "item"));
  if (!job.reason.empty()) show("  {}\n", job.reason);
  show("  {:<10} {} wall, {} CPU in {}\n", "time", format_duration_us(static_cast<std::int64_t>(seconds() * 1e6)),
       format_duration_us(summary->cpu_us), plural(summary->attempts, "attempt"));
  const auto row = [](const char* what, const Histogram& histogram, auto&& format) {
    if (histogram.count() == 0) return;
    show("  {:<10} p50 {}, p95 {}, max {}\n", what, format(histogram.quantile(0.5)), format(histogram.quantile(0.95)),
         format(histogram.max()));
  };
  row("duration", summary->wall_us, format_duration_us);
  row("memory", summary->memory_kib,
      [](std::int64_t kib) { return format_size(static_cast<std::uint64_t>(kib) * 1024); });
  if (!summary->failures.empty()) show("  failures\n");
  for (std::size_t i = 0; i < summary->failures.size() && i < kMostGroups; ++i) {
    const FailureGroup& group = summary->failures[i];
    auto example = example_text(reader, job.id, group);
    if (!example) return pass(example);
    show("  {:>10}  {}, such as item {}: {}\n", format_count(group.items), group.what, group.example.value,
         first_line(*example, 100));
    show("  {:>10}  see it: drover items {}:{}\n", "", name_, group.example.value);
  }
  if (summary->failures.size() > kMostGroups) {
    show("  {:>10}  and {} more kinds\n", "", summary->failures.size() - kMostGroups);
  }
  if (interrupted || (job.ended() && counts->cancelled > 0)) show("  go on with: drover resume {}\n", name_);
  if (counts->failed > 0) show("  run the failed again with: drover retry {}\n", name_);
  std::fflush(stdout);
  return {};
}

}  // namespace drover
