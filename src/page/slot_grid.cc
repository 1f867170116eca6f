#include "page/slot_grid.h"

#include <algorithm>

namespace drover::page {
namespace {

constexpr std::int64_t kShortestPauseUs = 60'000'000;
constexpr std::int64_t kPauseShare = 20;

void move_into(SlotGrid::Cell& to, SlotGrid::Cell& from) {
  to.busy_us += from.busy_us;
  to.ended += from.ended;
  to.failed += from.failed;
  from = {};
}

}  // namespace

void SlotGrid::add(const Attempt& attempt, const AttemptSpan& span) {
  const std::size_t row = rows_.row_of(attempt.worker, attempt.slot, [&](std::span<const std::size_t> to) {
    for (auto& [number, column] : columns_) {
      std::array<Cell, SlotRows::kMost> cells{};
      for (std::size_t i = 0; i < std::min(to.size(), cells.size()); ++i) move_into(cells[to[i]], column.cells[i]);
      column.cells = cells;
    }
  });
  const std::int64_t end_us = span.end_us();
  // An attempt that ends where a column begins has not run in it.
  const auto last_column = [&] { return (span.length_us > 0 ? end_us - 1 : end_us) / width_us_; };
  while (last_column() - span.start_us / width_us_ >= static_cast<std::int64_t>(kMostColumns)) halve();

  const std::int64_t last = last_column();
  for (std::int64_t number = span.start_us / width_us_; number <= last; ++number) {
    const std::int64_t from_us = std::max(span.start_us, number * width_us_);
    const std::int64_t to_us = std::min(end_us, (number + 1) * width_us_);
    Column& at = column(number, from_us, to_us);
    at.cells[row].busy_us += static_cast<double>(to_us - from_us);
    if (number < last) continue;
    ++at.cells[row].ended;
    if (attempt.state == AttemptState::failed || attempt.state == AttemptState::lost) ++at.cells[row].failed;
    if (attempt.settled) ++(attempt.state == AttemptState::succeeded ? at.succeeded : at.not_succeeded);
  }
  while (columns_.size() > kMostColumns) halve();
}

SlotGrid::Column& SlotGrid::column(std::int64_t number, std::int64_t from_us, std::int64_t to_us) {
  const auto [found, is_new] = columns_.try_emplace(number);
  Column& column = found->second;
  column.first_us = is_new ? from_us : std::min(column.first_us, from_us);
  column.last_us = std::max(column.last_us, to_us);
  return column;
}

void SlotGrid::halve() {
  std::unordered_map<std::int64_t, Column> before;
  before.swap(columns_);
  width_us_ *= 2;
  for (auto& [number, old] : before) {
    Column& to = column(number / 2, old.first_us, old.last_us);
    to.succeeded += old.succeeded;
    to.not_succeeded += old.not_succeeded;
    for (std::size_t i = 0; i < rows_.count(); ++i) move_into(to.cells[i], old.cells[i]);
  }
}

std::map<std::int64_t, const SlotGrid::Column*> SlotGrid::columns() const {
  std::map<std::int64_t, const Column*> sorted;
  for (const auto& [number, column] : columns_) sorted.emplace(number, &column);
  return sorted;
}

std::vector<std::int64_t> SlotGrid::lengths_us() const {
  std::vector<std::int64_t> out;
  const std::vector<Stretch> all = stretches();
  auto stretch = all.begin();
  for (const auto& [number, column] : columns()) {
    while (column->first_us > stretch->to_us) ++stretch;
    const std::int64_t from_us = std::max(number * width_us_, stretch->from_us);
    out.push_back(std::max<std::int64_t>(std::min((number + 1) * width_us_, stretch->to_us) - from_us, 1));
  }
  return out;
}

std::vector<SlotGrid::Stretch> SlotGrid::stretches() const {
  const auto work_us = static_cast<std::int64_t>(columns_.size()) * width_us_;
  const std::int64_t pause_us = std::max(kShortestPauseUs, work_us / kPauseShare);
  std::vector<Stretch> out;
  for (const auto& [number, column] : columns()) {
    if (out.empty() || column->first_us - out.back().to_us > pause_us) {
      out.push_back({column->first_us, column->last_us});
    } else {
      out.back().to_us = std::max(out.back().to_us, column->last_us);
    }
  }
  return out;
}

}  // namespace drover::page
