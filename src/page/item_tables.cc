// The tables of the slowest items, of those with the most memory and of those that kept GPUs busiest.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "page/attempt_span.h"
#include "page/html.h"
#include "page/item_text.h"
#include "page/sections.h"

namespace drover::page {
namespace {

constexpr std::size_t kTextCells = 200;

/// A cell with the number by which its column is sorted.
std::string number(std::string_view place, std::int64_t value, const std::string& shown) {
  return fmt::format(R"(<td class="number {}" data-value="{}">{}</td>)", place, value, shown);
}

std::string size(std::int64_t bytes) {
  return format_size(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

Result<std::string> row(const Attempt& attempt, bool shows_gpus, const ReportOptions& options) {
  auto item = item_text(options, attempt.item);
  if (!item) return pass(item);
  const std::int64_t wall_us = length_us(attempt);
  const std::int64_t cpu_us = attempt.user_us + attempt.system_us;
  return "<tr>" + number("item", static_cast<std::int64_t>(attempt.item.value), format_count(attempt.item.value)) +
         fmt::format(R"(<td class="text"><span>{}</span></td>)", html_text(*item, kTextCells)) +
         number("main", wall_us, format_duration_us(wall_us)) + number("more", cpu_us, format_duration_us(cpu_us)) +
         number("main", attempt.peak_memory_kib, size(attempt.peak_memory_kib * 1024)) +
         (shows_gpus ? number("main", attempt.gpu_busy_us, format_duration_us(attempt.gpu_busy_us)) +
                           number("more", attempt.peak_gpu_memory_kib, size(attempt.peak_gpu_memory_kib * 1024))
                     : "") +
         number("more", attempt.read_bytes, size(attempt.read_bytes)) +
         number("more", attempt.written_bytes, size(attempt.written_bytes)) +
         number("more", attempt.slot, std::to_string(attempt.slot)) +
         fmt::format(R"(<td class="ended"><span class="dot {}"></span>{}</td></tr>)", to_string(attempt.state),
                     attempt.state == AttemptState::succeeded ? "succeeded" : how_it_ended(attempt));
}

Result<std::string> table(const Figures& figures, const std::vector<Attempt>& attempts, std::string_view sorted_by,
                          const ReportOptions& options) {
  if (attempts.empty()) return std::string(R"(<p class="empty">Nothing was measured.</p>)");
  std::string out = R"(<div class="scroll"><table class="sortable"><thead><tr>)";
  struct Heading {
    std::string_view name;
    std::string_view place;
  };
  for (const auto& [name, place] :
       {Heading{"Item", "number item"}, Heading{"Text", "text"}, Heading{"Duration", "number main"},
        Heading{"CPU", "number more"}, Heading{"Memory", "number main"}, Heading{"GPU", "number main"},
        Heading{"GPU memory", "number more"}, Heading{"Read", "number more"}, Heading{"Written", "number more"},
        Heading{"Slot", "number more"}, Heading{"Ended", "ended"}}) {
    if (name.starts_with("GPU") && !figures.has_gpus()) continue;
    out += fmt::format(R"(<th scope="col" class="{}"{}>{}</th>)", place,
                       name == sorted_by ? R"( aria-sort="descending")" : "", name);
  }
  out += "</tr></thead><tbody>";
  for (const Attempt& attempt : attempts) {
    auto one = row(attempt, figures.has_gpus(), options);
    if (!one) return pass(one);
    out += *one;
  }
  return out + "</tbody></table></div>";
}

}  // namespace

Result<std::string> slowest_table(const Figures& figures, const ReportOptions& options) {
  return table(figures, figures.slowest.attempts(), "Duration", options);
}

Result<std::string> largest_table(const Figures& figures, const ReportOptions& options) {
  return table(figures, figures.largest.attempts(), "Memory", options);
}

Result<std::string> busiest_table(const Figures& figures, const ReportOptions& options) {
  return table(figures, figures.busiest.attempts(), "GPU", options);
}

}  // namespace drover::page
