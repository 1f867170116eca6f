// Records to lines. The streams of an attempt are cut apart into lines each by itself, so that what one leaves
// unfinished does not run into the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "logs/record.h"

namespace drover {

/// Whole lines of one stream that follow each other, or one long or unfinished line.
struct LineBlock {
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::string_view bytes;  // ends with a newline unless the line was cut
};

/// Of one attempt. Blocks come in the order in which their last bytes were read.
class LineBlocks {
 public:
  using Take = std::function<bool(const LineBlock&)>;

  /// `take` says whether to go on; so do these.
  explicit LineBlocks(Take take) : take_(std::move(take)) {}
  bool add(const LogRecord& record);
  /// What was never ended with a newline.
  bool finish();
  /// No line is begun.
  bool empty() const;

 private:
  struct Partial {
    std::string bytes;
    std::int64_t time_ms = 0;
  };

  bool give(LogStream stream, std::int64_t time_ms, std::string_view bytes);

  Take take_;
  Partial partial_[3];
};

}  // namespace drover
