// The marks of a job's items, from the ledger.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/jobs/item_blocks.h"
#include "ports/store.h"

namespace drover {

/// The marks of neighbouring items: of a few, however many their job has.
class SpanMarks {
 public:
  SpanMarks() = default;
  SpanMarks(std::uint64_t total, ItemSpan items)
      : first_block_(ItemBlocks::block_of(items.first)), marks_(items_covered(total, items)) {}

  ItemMark get(ItemIndex item) const { return marks_.get(ItemIndex{item.value - before()}); }
  /// The first item at or after `from`, which is one of them, with this mark.
  std::optional<ItemIndex> find(ItemMark mark, ItemIndex from) const {
    const auto found = marks_.find(mark, ItemIndex{from.value - before()});
    return found ? std::optional(ItemIndex{found->value + before()}) : std::nullopt;
  }
  [[nodiscard]] bool decode(std::uint64_t block, std::string_view bytes, bool grows) {
    if (block < first_block_) return false;
    return grows ? marks_.decode_known_part(block - first_block_, bytes) : marks_.decode(block - first_block_, bytes);
  }
  ItemBlocks take() && { return std::move(marks_); }

 private:
  /// From the beginning of the first one's block to the end of the last one's.
  static std::uint64_t items_covered(std::uint64_t total, ItemSpan items) {
    constexpr std::uint64_t kSize = ItemBlocks::kBlockItems;
    const std::uint64_t begin = items.first.value / kSize * kSize;
    const std::uint64_t last = std::min(items.last.value, total);
    const std::uint64_t end = std::min((last / kSize + 1) * kSize, total);
    return end > begin ? end - begin : 0;
  }
  std::uint64_t before() const { return first_block_ * ItemBlocks::kBlockItems; }

  std::uint64_t first_block_ = 0;
  ItemBlocks marks_;
};

/// A job on a stream may have grown since its `total` was read.
inline Result<SpanMarks> read_span_marks(StoreReader& reader, JobId job, std::uint64_t total, ItemSpan items,
                                         bool grows) {
  SpanMarks marks(total, items);
  bool fits = true;
  auto read = reader.each_block(job, items, [&](const BlockRecord& block) {
    fits = marks.decode(block.block, block.marks.value, grows) && fits;
  });
  if (!read) return pass(read);
  if (!fits) {
    return fail(ErrorCode::damaged, "the stored item states do not match the job",
                "check the ledger with 'drover doctor'");
  }
  return marks;
}

/// Of all its items.
inline Result<ItemBlocks> read_item_marks(StoreReader& reader, JobId job, std::uint64_t total) {
  auto marks = read_span_marks(reader, job, total, {}, false);
  if (!marks) return pass(marks);
  return std::move(*marks).take();
}

/// Whether an item is in the hands of the worker that got it with this grant, as of the last commit.
inline Result<bool> is_in_hands(StoreReader& reader, const Job& job, Token token) {
  auto grant = reader.grant(token.grant);
  if (!grant) return pass(grant);
  if (!*grant || (*grant)->job != job.id || !(*grant)->covers(token.item)) return false;
  const ItemSpan only{token.item, token.item};
  std::optional<GrantId> holder;
  auto rows = reader.each_open_item(job.id, only, [&](const OpenItem& item) { holder = item.grant; });
  if (!rows) return pass(rows);
  if (holder) return *holder == token.grant;
  // One without a history has no row: its mark tells.
  const bool grows = !job.stream.empty();
  const std::uint64_t total = grows ? std::max(job.total, token.item.value + 1) : job.total;
  auto marks = read_span_marks(reader, job.id, total, only, grows);
  if (!marks) return pass(marks);
  return marks->get(token.item) == ItemMark::open;
}

/// What the core asked for. Damage is passed on to it, since reading once more does not help; other errors are
/// returned.
inline Result<MarksRead> read_wanted_marks(StoreReader& reader, const MarksWanted& wanted) {
  auto marks = read_item_marks(reader, wanted.job, wanted.total);
  if (marks) return MarksRead{wanted.job, std::make_shared<ItemBlocks>(std::move(*marks))};
  if (marks.error().code != ErrorCode::damaged) return pass(marks);
  return MarksRead{wanted.job, nullptr, marks.error()};
}

}  // namespace drover
