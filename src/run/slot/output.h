// What of the running attempt's output drover gets to see.
#pragma once

#include <cstdint>
#include <span>

#include "run/slot/outbox.h"
#include "run/slot/output_end.h"

namespace drover::slot {

/// What this process may use of the memory that its item has.
enum class Memory : std::uint8_t { scarce, plenty };

/// The beginning goes out as it is read. When the attempt's limit is near, the rest waits here, the last megabyte of it
/// at most, until the attempt has ended; what fell out in between is named in a note.
///
/// Bytes are read from a pipe straight to where they go from: space(), read, filled(). Those that most likely fall out
/// are not even read: take().
class Output {
 public:
  explicit Output(Outbox& outbox) : outbox_(outbox) {}

  /// `limit` 0: none.
  void begin(Token token, std::uint64_t limit, Memory memory);
  std::span<char> space(LogStream stream, std::int64_t now_ms);
  void filled(std::size_t size);
  /// Takes some of what is in the pipe unread, if only the end is wanted by now; how much that was.
  std::size_t take(int pipe, LogStream stream, std::int64_t now_ms);
  void end();

  Memory memory() const { return memory_; }

  /// Frees what a long output has taken; whether there was anything.
  bool shrink();

 private:
  bool may_extend(LogStream stream, std::int64_t now_ms) const;
  void begin_frame(LogStream stream, std::int64_t time_ms);
  void end_frame();
  void add_frame(LogStream stream, std::int64_t time_ms, std::string_view first, std::string_view second);

  Outbox& outbox_;
  Token token_;
  std::uint64_t limit_ = 0;
  Memory memory_ = Memory::scarce;
  std::uint64_t head_left_ = 0;

  // Positions in the outbox of the frame that the last bytes went into.
  std::uint64_t frame_ = kNone;
  std::uint64_t frame_end_ = kNone;
  std::size_t fill_at_ = 0;
  LogStream stream_ = LogStream::out;
  std::int64_t time_ms_ = 0;

  std::int64_t cut_ms_ = 0;
  OutputEnd end_;
  bool has_been_large_ = false;

  static constexpr std::uint64_t kNone = UINT64_MAX;
};

}  // namespace drover::slot
