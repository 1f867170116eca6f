// The end of an output that was too long to keep.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/words.h"
#include "run/slot/pipe_hold.h"

namespace drover::slot {

/// The last bytes of both streams in the order in which they were read, in a ring of records. Takes no memory until the
/// first is added, and gives it back in clear(). What comes in large pieces is not copied into the ring before look().
class OutputEnd {
 public:
  OutputEnd() = default;
  ~OutputEnd() { clear(); }
  OutputEnd(const OutputEnd&) = delete;
  OutputEnd& operator=(const OutputEnd&) = delete;

  void clear();
  /// Keeps `most` bytes, headers of records included. Call it when nothing is kept.
  void keep_at_most(std::size_t most) { capacity_ = most; }
  void add(LogStream stream, std::int64_t time_ms, std::span<const char> bytes);
  /// How much it took out of the pipe, which is not empty; none where the system does not let it.
  std::size_t take(int pipe, LogStream stream, std::int64_t time_ms);
  /// Before dropped() and each().
  void look();

  /// How much was pushed out by what came after it.
  std::uint64_t dropped() const { return dropped_; }
  /// take(stream, time_ms, first part, second part), the oldest first.
  template <class Take>
  void each(Take&& take) const {
    for (std::uint64_t at = first_; at < end_;) {
      const Header header = header_at(at);
      const auto [first, second] = piece(at + sizeof(Header), header.size);
      take(header.stream, header.time_ms, first, second);
      at += sizeof(Header) + header.size;
    }
  }

 private:
  struct Header {
    std::int64_t time_ms = 0;
    std::uint32_t size = 0;
    LogStream stream = LogStream::out;
  };
  struct Piece {
    std::string_view first;
    std::string_view second;
  };

  Header header_at(std::uint64_t at) const;
  Piece piece(std::uint64_t at, std::size_t size) const;
  void write(const void* bytes, std::size_t size);
  bool has_ring();
  void drop(std::size_t size);

  std::size_t capacity_ = 0;
  char* ring_ = nullptr;  // the byte numbered n lies at n % capacity_
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t dropped_ = 0;
  PipeHold unseen_;  // younger than what is in the ring
};

}  // namespace drover::slot
