// The quantiles of durations and of memory, as small tables.
#include <fmt/format.h>

#include "base/units.h"
#include "page/sections.h"

namespace drover::page {
namespace {

template <class Format>
std::string table(const Spread& spread, Format&& format) {
  if (spread.count() == 0) return R"(<p class="empty">Nothing was measured.</p>)";
  return fmt::format(R"(<dl class="quantiles"><div><dt>p50</dt><dd>{}</dd></div><div><dt>p95</dt><dd>{}</dd></div>)"
                     R"(<div><dt>p99</dt><dd>{}</dd></div><div><dt>max</dt><dd>{}</dd></div></dl>)",
                     format(spread.quantile(0.5)), format(spread.quantile(0.95)), format(spread.quantile(0.99)),
                     format(spread.max()));
}

}  // namespace

std::string duration_quantiles(const Figures& figures) {
  return table(figures.duration_us, format_duration_us);
}

std::string memory_quantiles(const Figures& figures) {
  return table(figures.memory_kib,
               [](std::int64_t kib) { return format_size(static_cast<std::uint64_t>(kib) * 1024); });
}

}  // namespace drover::page
