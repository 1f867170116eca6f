// The marks of a job's items, from the ledger.
#pragma once

#include <memory>
#include <utility>

#include "core/jobs/item_blocks.h"
#include "ports/store.h"

namespace drover {

/// Of these items. Others seem pending.
inline Result<ItemBlocks> read_item_marks(StoreReader& reader, JobId job, std::uint64_t total, ItemSpan items = {}) {
  ItemBlocks marks(total);
  bool fits = true;
  auto read = reader.each_block(
      job, items, [&](const BlockRecord& block) { fits = marks.decode(block.block, block.marks.value) && fits; });
  if (!read) return pass(read);
  if (!fits) {
    return fail(ErrorCode::damaged, "the stored item states do not match the job",
                "check the ledger with 'drover doctor'");
  }
  return marks;
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
