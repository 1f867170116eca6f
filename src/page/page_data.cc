#include "page/page_data.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "page/html.h"
#include "page/item_text.h"
#include "screen/plain_text.h"

namespace drover::page {
namespace json = boost::json;
namespace {

constexpr std::size_t kPickedTextCells = 60;
constexpr std::size_t kPickedLineCells = 120;
constexpr std::size_t kTextBytes = 800'000;  // of all texts together, so that the page stays small

/// Texts by number, each once. When there are too many bytes of them, later ones are left out.
class Texts {
 public:
  int number_of(std::string_view bytes, std::size_t most_cells) {
    std::string text = plain_text(bytes, most_cells);
    if (text.empty()) return -1;
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    const std::size_t size = inside_script(json::serialize(json::string(text))).size();
    if (bytes_ + size > kTextBytes) return -1;
    bytes_ += size;
    const int number = static_cast<int>(list_.size());
    list_.emplace_back(text);
    numbers_.emplace(std::move(text), number);
    return number;
  }

  json::array take() { return std::move(list_); }

 private:
  std::map<std::string, int> numbers_;
  json::array list_;
  std::size_t bytes_ = 0;
};

json::array stretches(const Figures& figures, std::int64_t first_us) {
  json::array out;
  for (const auto& stretch : figures.grid.stretches()) {
    out.push_back(json::array{stretch.from_us - first_us, stretch.to_us - first_us});
  }
  return out;
}

json::array rows(const SlotRows& all) {
  json::array out;
  for (const std::size_t index : all.order()) {
    const SlotRows::Row row = all.row(index);
    out.push_back(json::object{{"label", row.label}, {"slots", row.slots}});
  }
  return out;
}

json::object columns(const SlotGrid& grid, std::int64_t first_us) {
  json::array at;
  json::array succeeded;
  json::array others;
  const auto all = grid.columns();
  const std::int64_t origin = all.empty() ? 0 : all.begin()->first;
  for (const auto& [number, column] : all) {
    at.push_back(number - origin);
    succeeded.push_back(column->succeeded);
    others.push_back(column->not_succeeded);
  }
  return {{"width_us", grid.width_us()},
          {"from_us", origin * grid.width_us() - first_us},
          {"at", std::move(at)},
          {"succeeded", std::move(succeeded)},
          {"others", std::move(others)}};
}

/// A share from 0 to 1 as one digit of base 36.
char share_digit(double share) {
  static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  const double last = static_cast<double>(kDigits.size() - 1);
  return kDigits[static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * last))];
}

// For every row, a digit and a count for every column; failures, which are rare, as column and count by turns.
json::array cells(const SlotGrid& grid) {
  json::array out;
  const auto all = grid.columns();
  const std::vector<std::int64_t> lengths_us = grid.lengths_us();
  for (const std::size_t row : grid.rows().order()) {
    const auto slots = static_cast<double>(grid.rows().row(row).slots);
    std::string busy;
    json::array ended;
    json::array failed;
    for (const auto& [number, column] : all) {
      const SlotGrid::Cell& cell = column->cells[row];
      const std::size_t at = ended.size();
      busy += share_digit(cell.busy_us / (static_cast<double>(lengths_us[at]) * slots));
      ended.push_back(cell.ended);
      if (cell.failed == 0) continue;
      failed.push_back(at);
      failed.push_back(cell.failed);
    }
    out.push_back(json::object{{"busy", busy}, {"ended", std::move(ended)}, {"failed", std::move(failed)}});
  }
  return out;
}

/// One array per attempt: row, place in the row, start, length, state, item, attempt, how, text, line,
/// slot.
Result<json::array> bars(const Figures& figures, const ReportOptions& options, std::int64_t first_us, Texts& texts) {
  const SlotRows& rows = figures.grid.rows();
  const std::vector<std::size_t> order = rows.order();
  json::array out;
  for (const Attempt& attempt : figures.bars) {
    const auto span = span_of(attempt);
    if (!span) continue;
    auto item = item_text(options, attempt.item);
    if (!item) return pass(item);
    const bool succeeded = attempt.state == AttemptState::succeeded;
    out.push_back(json::array{std::ranges::find(order, rows.row_of(attempt.worker, attempt.slot)) - order.begin(),
                              rows.place_in_row(attempt.worker, attempt.slot), span->start_us - first_us,
                              span->length_us, std::to_underlying(attempt.state), attempt.item.value,
                              attempt.attempt.value, texts.number_of(how_it_ended(attempt), kPickedLineCells),
                              texts.number_of(*item, kPickedTextCells),
                              succeeded ? -1 : texts.number_of(telling_line(attempt), kPickedLineCells), attempt.slot});
  }
  return out;
}

json::object histogram(const Spread& spread) {
  json::array bars;
  for (const Spread::Bar& bar : spread.bars()) {
    bars.push_back(json::array{bar.from, bar.to, bar.succeeded, bar.others});
  }
  return {{"bars", std::move(bars)},
          {"marks", json::array{spread.quantile(0.5), spread.quantile(0.95), spread.quantile(0.99), spread.max()}}};
}

}  // namespace

Result<std::string> page_data(const Figures& figures, const ReportOptions& options) {
  const auto all = figures.grid.stretches();
  const std::int64_t first_us = all.empty() ? options.now_ms * 1000 : all.front().from_us;
  json::object data{{"first_us", first_us},
                    {"utc_offset_min", utc_offset_minutes(first_us / 1000)},
                    {"attempts", figures.attempts},
                    {"settled", figures.settled},
                    {"stretches", stretches(figures, first_us)},
                    {"rows", rows(figures.grid.rows())},
                    {"columns", columns(figures.grid, first_us)},
                    {"duration", histogram(figures.duration_us)},
                    {"memory", histogram(figures.memory_kib)}};
  if (figures.every_attempt_is_a_bar()) {
    Texts texts;
    auto drawn = bars(figures, options, first_us, texts);
    if (!drawn) return pass(drawn);
    data["bars"] = std::move(*drawn);
    data["texts"] = texts.take();
  } else {
    data["cells"] = cells(figures.grid);
  }
  return inside_script(json::serialize(data));
}

}  // namespace drover::page
