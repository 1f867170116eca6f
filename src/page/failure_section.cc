// Failures: the ways in which items failed, the largest group first, each with an example and where to read on.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "page/html.h"
#include "page/item_text.h"
#include "page/sections.h"

namespace drover::page {
namespace {

constexpr std::size_t kMostShown = 50;
constexpr std::size_t kLineCells = 300;

/// Items by how they ended, for the line above the groups.
std::string endings(const std::vector<FailureGroup>& groups) {
  std::map<std::string, std::uint64_t> items;
  for (const FailureGroup& group : groups) items[group.how] += group.items;
  std::vector<std::pair<std::string, std::uint64_t>> sorted(items.begin(), items.end());
  std::erase_if(sorted, [](const auto& it) { return it.second == 0; });
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const auto& it) { return it.second; });
  std::string out;
  for (const auto& [how, count] : sorted) {
    out += fmt::format("<li><b>{}</b> {}</li>", format_count(count), html_text(how, kLineCells));
  }
  return out.empty() ? "" : fmt::format(R"(<ul class="endings">{}</ul>)", out);
}

std::string size_text(const FailureGroup& group) {
  if (group.items == 0) {
    return fmt::format(R"(<b>{}</b> {}, retried)", format_count(group.attempts),
                       group.attempts == 1 ? "attempt" : "attempts");
  }
  std::string out = fmt::format("<b>{}</b> {}", format_count(group.items), group.items == 1 ? "item" : "items");
  if (group.attempts > group.items) out += fmt::format("<small>{} attempts</small>", format_count(group.attempts));
  return out;
}

std::string shape_text(const FailureGroup& group) {
  if (group.is_rest) return R"(<span class="shape none">other, less common last lines</span>)";
  if (group.shape.empty()) return R"(<span class="shape none">printed nothing</span>)";
  return fmt::format(R"(<code class="shape">{}</code>)", html_text(group.shape, kLineCells));
}

Result<std::string> group_html(const FailureGroup& group, const Job& job, const ReportOptions& options,
                               double largest) {
  const Attempt& example = group.example;
  auto item = item_text(options, example.item);
  if (!item) return pass(item);
  const double share = static_cast<double>(group.items) / largest * 100;
  std::string out =
      fmt::format(R"(<li class="failure"><div class="size">{}<i style="width:{:.1f}%"></i></div><div class="what">)"
                  R"(<p><span class="how">{}</span> {}</p><p class="example">item {}, attempt {}{})",
                  size_text(group), share, html_text(group.how, kLineCells), shape_text(group), example.item.value,
                  example.attempt.value, item->empty() ? "" : fmt::format(": <q>{}</q>", html_text(*item, kLineCells)));
  const std::string line = html_text(telling_line(example), kLineCells);
  if (!line.empty() && telling_line(example) != group.shape) out += fmt::format(R"(<samp>{}</samp>)", line);
  out += fmt::format(R"(</p><code class="copy">drover logs {}:{}</code></div></li>)", html_text(job.name, kLineCells),
                     example.item.value);
  return out;
}

}  // namespace

Result<std::string> failure_section(const Job& job, const Figures& figures, const ReportOptions& options) {
  const std::vector<FailureGroup> groups = figures.failures.sorted();
  if (groups.empty()) {
    return std::string(figures.attempts == 0 ? R"(<p class="empty">No attempt has ended.</p>)"
                                             : R"(<p class="empty">No attempt failed.</p>)");
  }
  const auto largest = static_cast<double>(std::max<std::uint64_t>(groups.front().items, 1));
  std::string out = endings(groups) + R"(<ol class="failures">)";
  for (std::size_t i = 0; i < std::min(groups.size(), kMostShown); ++i) {
    auto one = group_html(groups[i], job, options, largest);
    if (!one) return pass(one);
    out += *one;
  }
  out += "</ol>";
  if (groups.size() > kMostShown) {
    std::uint64_t items = 0;
    for (std::size_t i = kMostShown; i < groups.size(); ++i) items += groups[i].items;
    out += fmt::format(R"(<p class="empty">And {} in {}.</p>)", plural(items, "item"),
                       plural(groups.size() - kMostShown, "smaller group"));
  }
  return out;
}

}  // namespace drover::page
