#include "store/largest_first.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "ports/item_marks.h"
#include "store/record_sql.h"

namespace drover {
namespace {

struct Settled {
  std::int64_t value = 0;
  ItemIndex item;
  AttemptNumber attempt;

  /// The larger first; among equals, the earlier item.
  bool operator<(const Settled& other) const { return std::tuple(-value, item) < std::tuple(-other.value, other.item); }
};

struct BlockPeak {
  std::uint64_t block = 0;
  std::int64_t value = 0;
};

const char* column_of(AttemptOrder order) {
  switch (order) {
    case AttemptOrder::longest: return "wall_us";
    case AttemptOrder::largest: return "peak_memory_kib";
    case AttemptOrder::busiest: return "gpu_busy_us";
  }
  return "wall_us";
}

std::unexpected<Error> unreadable(const Database& db) {
  return fail(ErrorCode::damaged, concat(db.path(), ": a stored attempt cannot be read"));
}

Result<std::vector<BlockPeak>> peaks_of(Database& db, JobId job, AttemptOrder order) {
  const std::string column = column_of(order);
  auto rows =
      db.prepare(concat("SELECT block, ", column, " FROM peaks WHERE job = ? ORDER BY ", column, " DESC, block"));
  if (!rows) return pass(rows);
  rows->bind(1, to_cell(job));
  std::vector<BlockPeak> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    BlockPeak& it = out.emplace_back();
    if (!from_cell(rows->cell(0), it.block) || !from_cell(rows->cell(1), it.value)) return unreadable(db);
  }
}

/// The first `most` of all, in order.
Result<std::vector<Settled>> first_settled(Database& db, JobId job, AttemptOrder order, std::size_t most) {
  auto peaks = peaks_of(db, job, order);
  if (!peaks) return pass(peaks);
  auto rows = db.prepare(concat("SELECT ", column_of(order), ", item, attempt FROM attempt_rows",
                                " WHERE job = ? AND item BETWEEN ? AND ? AND settled"));
  if (!rows) return pass(rows);
  std::vector<Settled> best;  // a heap, with the last of them on top
  for (const BlockPeak& peak : *peaks) {
    const std::uint64_t first = peak.block * ItemBlocks::kBlockItems;
    // Nothing in this block, or in those that follow, comes before the last of the best.
    const Settled most_there{peak.value, ItemIndex{first}};
    if (best.size() == most && best.front() < most_there) break;
    rows->bind(1, to_cell(job)).bind(2, to_cell(first)).bind(3, to_cell(first + ItemBlocks::kBlockItems - 1));
    while (true) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) break;
      Settled it;
      if (!from_cell(rows->cell(0), it.value)) return unreadable(db);
      if (best.size() == most && it.value < best.front().value) continue;
      if (!from_cell(rows->cell(1), it.item) || !from_cell(rows->cell(2), it.attempt)) return unreadable(db);
      if (best.size() == most && !(it < best.front())) continue;
      if (best.size() == most) {
        std::pop_heap(best.begin(), best.end());
        best.pop_back();
      }
      best.push_back(it);
      std::push_heap(best.begin(), best.end());
    }
    rows->reset();
  }
  std::sort_heap(best.begin(), best.end());
  return best;
}

}  // namespace

Result<std::vector<Attempt>> largest_first(Database& db, JobId job, AttemptOrder order, std::uint64_t skip,
                                           std::uint64_t limit) {
  if (limit == 0) return std::vector<Attempt>();
  auto found = first_settled(db, job, order, skip + limit);
  if (!found) return pass(found);
  auto rows = db.prepare(select_sql<Attempt>("attempt_rows") + " WHERE job = ? AND item = ? AND attempt = ?");
  if (!rows) return pass(rows);
  std::vector<Attempt> out;
  for (std::size_t i = skip; i < found->size(); ++i) {
    auto row =
        rows->bind(1, to_cell(job)).bind(2, to_cell((*found)[i].item)).bind(3, to_cell((*found)[i].attempt)).step();
    if (!row) return pass(row);
    // It may have been deleted meanwhile.
    if (*row) {
      auto attempt = rows->record<Attempt>();
      if (!attempt) return pass(attempt);
      out.push_back(std::move(*attempt));
    }
    rows->reset();
  }
  return out;
}

}  // namespace drover
