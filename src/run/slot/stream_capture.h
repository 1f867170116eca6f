// One of the two output streams of the running attempt.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ports/runner.h"
#include "run/descriptor.h"
#include "run/slot_protocol.h"

namespace drover::slot {

/// A pipe read as it fills: counts the bytes, keeps the last kTailBytes, and writes all of them to a file if asked.
///
/// Both ends of the pipe stay open here while the attempt runs. So its closing is no event, which saves a wakeup for
/// each stream of each item, and nobody ever waits for an end of file that a stray holder of the pipe could put off.
class StreamCapture {
 public:
  /// What the last attempt wrote is nobody's any more.
  void forget();
  /// A fresh pipe, and the file if `copy_path` is not empty; what went wrong, for people, or nothing.
  std::string open(const char* copy_path);
  void close();

  int read_end() const { return read_end_.get(); }    // -1 while closed
  int write_end() const { return write_end_.get(); }  // blocking: it becomes the attempt's

  /// Reads once, without waiting.
  std::size_t take() { return take_at_most(kTailBytes); }
  /// Reads what is in the pipe now, and no more than that: somebody may still be writing.
  void drain();

  /// Adds the number of bytes and the tail.
  void write_to(FrameWriter& frame) const;
  /// Why the file does not hold everything; empty: it does.
  std::string copy_problem() const;

 private:
  std::size_t take_at_most(std::size_t most);
  void copy(const char* bytes, std::size_t size);

  Descriptor read_end_;
  Descriptor write_end_;
  Descriptor copy_;
  std::string copy_path_;
  int copy_error_ = 0;
  bool never_waits_ = false;
  std::uint64_t bytes_ = 0;
  std::array<char, kTailBytes> ring_;  // the byte numbered n lies at n % kTailBytes
};

}  // namespace drover::slot
