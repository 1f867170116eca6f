// The stored frames of a run's logs, printed in order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/log_printer.h"
#include "logs/lines.h"
#include "logs/log_reader.h"
#include "worker/run_logs.h"

namespace drover {

struct WantedLines {
  bool only_stderr = false;
  std::int64_t since_ms = 0;

  bool has(LogStream stream, std::int64_t time_ms) const {
    if (stream == LogStream::note) return true;
    return (!only_stderr || stream == LogStream::err) && time_ms >= since_ms;
  }
};

/// A frame and whose records are wanted of it; nobody in particular: everybody's of the job.
struct LogPiece {
  FramePlace place;
  std::optional<LogKey> key;
};

/// Goes through pieces and prints the lines in them.
class PiecePrinter {
 public:
  PiecePrinter(LogReader& reader, JobId job, WantedLines wanted, LogPrinter& printer)
      : reader_(reader), job_(job), wanted_(wanted), printer_(printer) {}

  /// All of them, or only their last lines: where those begin is found from the end. False: nobody reads any more.
  Result<bool> print(const std::vector<LogPiece>& pieces, std::optional<std::uint64_t> tail = {});
  Result<bool> print(const LogPiece& piece);
  /// What waits for others that are older.
  bool print_waiting();
  /// What was never ended with a newline.
  void finish();

 private:
  struct Kept {
    LogKey key;
    LogStream stream = LogStream::out;
    std::int64_t time_ms = 0;
    std::string text;
  };

  /// The lines in it that would be printed.
  Result<std::uint64_t> count(const LogPiece& piece);
  bool is_wanted(const LogRecord& record, const LogPiece& piece) const;
  LineBlocks& assembler(const LogKey& key);
  bool give(const LogKey& key, const LineBlock& block);
  bool print_kept();
  bool wait_in_line(const LogRecord& record);
  bool print_oldest();

  LogReader& reader_;
  const JobId job_;
  const WantedLines wanted_;
  LogPrinter& printer_;
  std::optional<std::uint64_t> keep_;  // only so many last lines
  std::deque<Kept> kept_;
  std::multimap<std::int64_t, Kept> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::map<LogKey, LineBlocks> assemblers_;
};

Result<std::vector<LogPiece>> pieces_of(RunLogs& logs, const LoggedAttempt& attempt);

/// All frames there are, in the order in which they were written, from a place on, until `take` says to stop.
Result<bool> each_piece_since(LogReader& reader, FramePlace& from,
                              const std::function<Result<bool>(const LogPiece&)>& take);

}  // namespace drover
