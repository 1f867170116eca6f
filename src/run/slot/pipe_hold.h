// Output that nobody has looked at yet, kept in a pipe of our own.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "base/words.h"
#include "ports/descriptor.h"

namespace drover::slot {

/// The last megabyte at most of what it was given. Bytes get here from another pipe, and vanish again when there is no
/// more room, as whole pages: none is copied, however much a program prints.
class PipeHold {
 public:
  /// How much it took out of `pipe`, which is not empty; none where the system does not let it.
  std::size_t take(int pipe, LogStream stream, std::int64_t time_ms);
  /// read(stream, time_ms, bytes) for all that it holds, the oldest first, a part of `buffer` at a time; then it is
  /// empty.
  template <class Read>
  void pour(std::span<char> buffer, Read&& read) {
    while (!pieces_.empty()) {
      const Piece piece = pieces_.front();
      const std::size_t size = take_out(buffer);
      if (size > 0) read(piece.stream, piece.time_ms, buffer.first(size));
    }
  }
  void close() { *this = {}; }

  bool empty() const { return pieces_.empty(); }
  /// How much made room for what came after it.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Piece {
    LogStream stream = LogStream::out;
    std::int64_t time_ms = 0;
    std::size_t size = 0;
  };

  bool open();
  void drop_some();
  std::size_t take_out(std::span<char> buffer);
  void forget(std::size_t size);

  Descriptor in_;
  Descriptor out_;
  Descriptor nowhere_;
  std::deque<Piece> pieces_;
  std::size_t held_ = 0;
  std::uint64_t dropped_ = 0;
  bool is_refused_ = false;
};

}  // namespace drover::slot
