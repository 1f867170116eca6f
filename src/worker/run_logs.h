// The logs of a run, found through its ledger: which attempts printed something, and where it is. What runs now only
// the holder of the run knows; what a killed process left behind is found by looking through the segments it had open.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "logs/log_reader.h"
#include "ports/store.h"
#include "store/run_folder.h"

namespace drover {

/// One attempt's output.
struct LoggedAttempt {
  LogKey key;
  ExtentList extents;
  std::uint64_t bytes = 0;
  std::optional<Attempt> row;  // nothing: it has not ended, or its end was never recorded
  bool running = false;
};

class RunLogs {
 public:
  RunLogs(const RunFolder& folder, StoreReader& reader, const Job& job)
      : folder_(folder), reader_(reader), job_(job), logs_(folder.logs()) {}

  LogReader& reader() { return logs_; }

  /// All attempts at the item in the order of their numbers, those that printed nothing too.
  Result<std::vector<LoggedAttempt>> of_item(ItemIndex item);

  enum class Which : std::uint8_t { all, failed };  // failed: attempts at items that failed
  /// Every attempt that printed something, in the order of items; what has not ended, or was never recorded, comes
  /// last.
  Result<void> each(Which which, const std::function<bool(LoggedAttempt)>& take);

  /// Asks the holder to write down what it has, and where the item's output is by now. Nothing: nobody holds the run.
  std::optional<LoggedAttempt> ask_running(ItemIndex item);
  bool ask_to_show_all();

 private:
  /// What the holder says of itself.
  struct Holder {
    std::vector<std::pair<ItemIndex, AttemptNumber>> unrecorded;  // attempts that run, or ended a moment ago
    std::uint64_t first_segment = 0;                              // segments before it are of others
  };
  std::optional<Holder> ask_holder_for_all();
  Result<std::vector<LoggedAttempt>> unrecorded(std::optional<ItemIndex> item, const std::optional<Holder>& holder);

  const RunFolder& folder_;
  StoreReader& reader_;
  const Job& job_;
  LogReader logs_;

  // What was found last: it cannot change while no process has begun a new segment.
  struct Found {
    std::optional<ItemIndex> item;
    std::vector<std::uint64_t> segments;
    std::vector<LoggedAttempt> attempts;
  };
  std::optional<Found> found_;
};

}  // namespace drover
