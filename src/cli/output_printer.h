// drover run --print: what items printed, each item's output in one piece, when the item has ended.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "logs/log_reader.h"
#include "worker/local_run.h"

namespace drover {

/// In which order --print prints.
enum class PrintOrder : std::uint8_t { as_they_end, by_item };

/// Reads outputs back from the log and writes them to standard output and standard error on a thread of its own: the
/// run never waits for a slow reader. Output that waits for its turn takes no memory.
class OutputPrinter {
 public:
  /// `is_settled` says which items had ended before this run was opened: with by_item nobody waits for those.
  OutputPrinter(const std::string& logs, PrintOrder order, std::vector<bool> is_settled);
  /// Without finish(), what was not printed is not.
  ~OutputPrinter();
  OutputPrinter(const OutputPrinter&) = delete;
  OutputPrinter& operator=(const OutputPrinter&) = delete;

  /// The last attempt of an item has ended. From any thread.
  void add(FinishedOutput output);
  /// Prints everything that is left, in order, and waits for that. The first error, if there was one.
  Result<void> finish();

 private:
  void work();
  void print(const FinishedOutput& output);
  void print_in_turn();

  const PrintOrder order_;
  LogReader reader_;

  // The thread's own.
  std::vector<bool> is_settled_;
  std::size_t next_ = 0;                             // by_item: whose turn it is
  std::map<ItemIndex, FinishedOutput> out_of_turn_;  // by_item
  bool is_read_ = true;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<FinishedOutput> added_;
  bool is_last_ = false;
  bool is_abandoned_ = false;
  std::optional<Error> error_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace drover
