// The head of the page: what it was, how it went, and the numbers at a glance.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/money.h"
#include "base/units.h"
#include "page/html.h"
#include "page/sections.h"

namespace drover::page {
namespace {

constexpr std::size_t kCommandCells = 2000;
constexpr std::size_t kFactCells = 300;

struct Count {
  std::string_view name;
  std::uint64_t items = 0;
};

// As `drover status` counts: what an ended job did not run was cancelled with it.
std::array<Count, 4> item_counts(const Job& job) {
  const std::uint64_t done = job.succeeded + job.failed + (job.ended() ? 0 : job.cancelled);
  const std::uint64_t rest = job.total - std::min(job.total, done);
  return {{{"succeeded", job.succeeded},
           {"failed", job.failed},
           {"cancelled", job.ended() ? rest : job.cancelled},
           {"left", job.ended() ? 0 : rest}}};
}

std::string_view state_word(const Job& job, bool running) {
  if (job.ended()) return to_string(job.state);
  return running ? "running" : "stopped";
}

std::string rate_text(double per_second) {
  const auto in = [&](double factor, std::string_view unit) {
    const double rate = per_second * factor;
    if (rate >= 100) return fmt::format("{}{}", format_count(static_cast<std::uint64_t>(std::llround(rate))), unit);
    return fmt::format("{:.1f}{}", rate, unit);
  };
  if (per_second >= 1) return in(1, "/s");
  if (per_second * 60 >= 1) return in(60, "/min");
  return in(3600, "/h");
}

std::string duration(std::int64_t us) {
  return us > 0 ? format_duration_us(us) : "0 s";
}

std::string memory(std::int64_t kib) {
  return format_size(static_cast<std::uint64_t>(kib) * 1024);
}

std::string when_line(const Job& job, const ReportOptions& options) {
  std::string line = fmt::format("Started {}", local_time(job.created_ms));
  if (job.ended()) line += fmt::format(", ended {}", local_time(job.ended_ms));
  if (!options.machine.empty()) line += fmt::format(" · {}", html_text(options.machine, kFactCells));
  return line;
}

std::string progress(const Job& job) {
  std::string bar;
  std::string legend;
  for (const Count& count : item_counts(job)) {
    const bool always = count.name == "succeeded" || count.name == "failed";
    if (count.items > 0) bar += fmt::format(R"(<i class="{}" style="flex-grow:{}"></i>)", count.name, count.items);
    if (count.items == 0 && !always) continue;
    legend +=
        fmt::format(R"(<li class="{0}"><b data-count="{0}">{1}</b> {0}</li>)", count.name, format_count(count.items));
  }
  return fmt::format(R"(<div class="progress"><div class="bar">{}</div><ul class="legend">{}<li class="all">of )"
                     R"(<b data-count="total">{}</b> {}</li></ul></div>)",
                     bar, legend, format_count(job.total), job.total == 1 ? "item" : "items");
}

std::string tile(std::string_view what, const std::string& value, const std::string& more) {
  return fmt::format(R"(<div class="tile"><h3>{}</h3><b>{}</b><p>{}</p></div>)", what, value, more);
}

std::string wall_more(const Figures& figures) {
  const auto stretches = figures.grid.stretches();
  if (stretches.size() < 2) return "from the first start to the last end";
  const std::int64_t all_us = stretches.back().to_us - stretches.front().from_us;
  return fmt::format("excluding {}, {} in total", plural(stretches.size() - 1, "pause"),
                     duration(all_us - figures.wall_us()));
}

std::string tiles(const Figures& figures) {
  if (figures.attempts == 0) return "";
  const std::int64_t wall_us = figures.wall_us();
  const double wall_s = static_cast<double>(wall_us) / 1e6;
  const auto per_second = [&](double value) { return wall_us > 0 ? value / wall_s : 0; };
  const Spread& lasted = figures.duration_us;
  const Spread& used = figures.memory_kib;
  const std::string none = "–";
  return R"(<div class="tiles">)" + tile("Wall time", duration(wall_us), wall_more(figures)) +
         tile("Throughput", wall_us > 0 ? rate_text(per_second(static_cast<double>(figures.settled))) : none,
              "items ended") +
         tile("Utilisation", wall_us > 0 ? fmt::format("{:.0f} %", figures.utilisation() * 100) : none,
              fmt::format("of {}", plural(figures.grid.rows().slots(), "slot"))) +
         tile("CPU time", duration(figures.cpu_us),
              fmt::format("{:.1f} cores on average", per_second(static_cast<double>(figures.cpu_us) / 1e6))) +
         (figures.has_gpus() ? tile("GPU time", duration(figures.gpu_busy_us),
                                    fmt::format("{:.1f} GPUs busy on average, {:.1f} kJ, {} at most in one attempt",
                                                per_second(static_cast<double>(figures.gpu_busy_us) / 1e6),
                                                static_cast<double>(figures.gpu_energy_mj) / 1e6,
                                                memory(figures.gpu_memory_kib.max())))
                             : "") +
         (figures.on_demand_microdollars > 0
              ? tile("Cost", format_dollars(figures.cost_microdollars),
                     fmt::format("{} on demand", format_dollars(figures.on_demand_microdollars)))
              : "") +
         tile("Attempts", format_count(figures.attempts),
              fmt::format("{}, {} lost", figures.retries == 1 ? "1 retry" : format_count(figures.retries) + " retries",
                          format_count(figures.lost))) +
         tile("Median duration", lasted.count() > 0 ? duration(lasted.quantile(0.5)) : none,
              lasted.count() > 0 ? fmt::format("longest {}", duration(lasted.max())) : "nothing was measured") +
         tile("Median peak memory", used.count() > 0 ? memory(used.quantile(0.5)) : none,
              used.count() > 0 ? fmt::format("largest {}", memory(used.max())) : "nothing was measured") +
         tile("Written", format_size(figures.written_bytes),
              fmt::format("{} read, {} printed", format_size(figures.read_bytes), format_size(figures.printed_bytes))) +
         "</div>";
}

}  // namespace

std::string head_section(const Job& job, const Figures& figures, const ReportOptions& options) {
  const std::string_view state = state_word(job, options.running);
  std::string out = fmt::format(R"(<header><div class="title"><h1>{}</h1><span class="state {}">{}</span></div>)"
                                R"(<p class="when">{}</p>)",
                                html_text(job.name, kFactCells), state, state, when_line(job, options));
  if (!options.command.empty()) {
    out += fmt::format(R"(<p class="command"><code>{}</code></p>)", html_text(options.command, kCommandCells));
  }
  if (!job.reason.empty()) out += fmt::format(R"(<p class="note">{}</p>)", html_text(job.reason, kFactCells));
  if (!job.ended()) {
    out += fmt::format(R"(<p class="note">{} Items that are running now are not included.</p>)",
                       options.running ? "The run is still running." : "The run was stopped before it ended.");
  }
  return out + progress(job) + "</header>" + tiles(figures);
}

}  // namespace drover::page
