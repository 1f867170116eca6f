// One of the two output streams of the running attempt.
#pragma once

#include <cstdint>
#include <string>

#include "base/words.h"
#include "ports/descriptor.h"
#include "run/slot/output.h"

namespace drover::slot {

/// A pipe read as it fills: counts the bytes, passes them on, and writes all of them to a file if asked.
///
/// Both ends of the pipe stay open here while the attempt runs. So its closing is no event, which saves a wakeup for
/// each stream of each item, and nobody ever waits for an end of file that a stray holder of the pipe could put off.
class StreamCapture {
 public:
  StreamCapture(LogStream stream, Output& output) : stream_(stream), output_(output) {}

  /// What the last attempt wrote is nobody's any more.
  void forget();
  /// A fresh pipe, and the file if `copy_path` is not empty; what went wrong, for people, or nothing.
  std::string open(const char* copy_path);
  void close();

  int read_end() const { return read_end_.get(); }    // -1 while closed
  int write_end() const { return write_end_.get(); }  // blocking: it becomes the attempt's

  /// Reads once, without waiting.
  void take() { take_at_most(SIZE_MAX); }
  /// Reads what is in the pipe now, and no more than that: somebody may still be writing.
  void drain();

  std::uint64_t bytes() const { return bytes_; }
  /// Why the file does not hold everything, as errno tells it; 0: it does.
  int copy_error() const { return copy_error_; }
  /// The same for people; empty: it does.
  std::string copy_problem() const;

 private:
  std::size_t take_at_most(std::size_t most);
  /// Much at once, and without reading it, if it is such that it will most likely not be kept.
  std::size_t take_unread(std::int64_t now_ms);
  void copy(const char* bytes, std::size_t size);

  const LogStream stream_;
  Output& output_;
  Descriptor read_end_;
  Descriptor write_end_;
  Descriptor copy_;
  std::string copy_path_;
  int copy_error_ = 0;
  bool never_waits_ = false;
  bool is_wide_ = false;
  std::uint64_t bytes_ = 0;
};

}  // namespace drover::slot
