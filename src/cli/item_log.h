// What one item of a run printed, attempt after attempt, and as it comes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "cli/log_pieces.h"
#include "cli/opened_run.h"

namespace drover {

struct ItemLogWish {
  ItemIndex item;
  std::uint32_t attempt = 0;  // only this one; 0: all
  WantedLines lines;
  std::optional<std::uint64_t> tail;  // only the last lines, of the last attempt
  bool follow = false;                // go on until it has ended
  bool quiet = false;                 // nothing but the lines
  bool only_whole_lines = false;      // else one that is not ended is shown as it grows
};

/// An error if the run has no such item.
Result<void> check_item(const OpenedRun& run, ItemIndex item);

Result<void> print_item_log(const ItemLogWish& wish, const OpenedRun& run, RunLogs& logs, LogPrinter& printer);

/// Before looking again for what came.
void wait_for_more_log();

}  // namespace drover
