// A run as one HTML page that stands alone: it fetches nothing, and opens from a disk or an e-mail as well as from a
// server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/records.h"
#include "ports/store.h"

namespace drover {

/// Where the page goes, and what it says that is not in the ledger.
struct ReportOptions {
  std::string path;            // of the page; what was there before stays until the new one is whole
  std::string drover_version;  // who made it
  std::string command;         // what every item ran, as people would write it
  std::string machine;         // host name, cores, memory: free text
  bool running = false;        // a run that has not ended goes on right now; else it was stopped
  std::int64_t now_ms = 0;     // epoch: when the page is made
  std::function<Result<std::string>(ItemIndex)> item_text;  // may be bytes of any kind
  std::function<std::string(std::string_view)> shape;       // of a last line; the same whatever its digits are
};

/// Reads the ledger once, in memory that does not grow with it, and writes the page.
Result<void> write_report(StoreReader& reader, const Job& job, const ReportOptions& options);

}  // namespace drover
