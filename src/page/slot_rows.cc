#include "page/slot_rows.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace drover::page {
namespace {

std::string range_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? concat(first) : concat(first, "–", last);
}

}  // namespace

void SlotRows::add(std::uint64_t key) {
  rows_[key] = firsts_.try_emplace(key >> fold_, firsts_.size()).first->second;
}

std::vector<std::size_t> SlotRows::fold() {
  std::vector<std::size_t> to(firsts_.size());
  std::map<std::uint64_t, std::size_t> folded;
  for (const auto& [key, row] : firsts_) to[row] = folded.try_emplace(key >> 1U, folded.size()).first->second;
  for (auto& [key, row] : rows_) row = to[row];
  firsts_ = std::move(folded);
  ++fold_;
  return to;
}

std::vector<std::size_t> SlotRows::order() const {
  std::vector<std::size_t> rows;
  rows.reserve(firsts_.size());
  for (const auto& [key, row] : firsts_) rows.push_back(row);
  return rows;
}

std::size_t SlotRows::place_in_row(WorkerId worker, std::uint32_t slot) const {
  const std::uint64_t key = key_of(worker, slot);
  const std::size_t row = rows_.at(key);
  const auto before = [&](const auto& it) { return it.second == row && it.first < key; };
  return static_cast<std::size_t>(std::ranges::count_if(rows_, before));
}

SlotRows::Row SlotRows::row(std::size_t row) const {
  Row out;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const auto& [key, its_row] : rows_) {
    if (its_row != row) continue;
    ++out.slots;
    first = std::min(first, key);
    last = std::max(last, key);
  }
  const auto worker = [](std::uint64_t key) { return key >> 32U; };
  const auto slot = [](std::uint64_t key) { return key & 0xffffffffU; };
  const bool one_worker = std::ranges::all_of(rows_, [&](const auto& it) { return worker(it.first) == worker(first); });
  if (worker(first) != worker(last)) {
    out.label = concat("w", range_text(worker(first), worker(last)));
  } else {
    out.label = concat(one_worker ? "" : concat("w", worker(first), ":"), range_text(slot(first), slot(last)));
  }
  return out;
}

}  // namespace drover::page
