// Lines that a long-lived process prints while it has more important things to do: its log, its notices. Whoever prints
// one never waits for whoever reads them. A thread of its own writes them; when too many wait, the oldest are dropped,
// counted, and the reader is told how many there were.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace drover {

class BackgroundLines {
 public:
  /// The line that stands in the place of so many that were dropped, with its end.
  using DroppedLine = std::function<std::string(std::uint64_t count)>;

  /// How many lines may wait for their reader.
  static constexpr std::size_t kMostWaiting = 4096;
  /// How long a process that exits waits for a reader.
  static constexpr std::chrono::milliseconds kPatience{1000};

  BackgroundLines(int fd, DroppedLine dropped_line, std::size_t most_waiting = kMostWaiting);
  /// Writes what waits, for at most kPatience.
  ~BackgroundLines();
  BackgroundLines(const BackgroundLines&) = delete;
  BackgroundLines& operator=(const BackgroundLines&) = delete;

  /// Whole lines, with their ends. From any thread; never waits.
  void write(std::string_view lines);
  /// Returns when what was written before is with its reader, or after `patience`.
  void flush(std::chrono::milliseconds patience = kPatience);
  /// How many were dropped so far. From any thread.
  std::uint64_t dropped() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace drover
