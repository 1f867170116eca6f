// A page of an attempt's lines, as GetLogEvents gives them: gathered while the log passes by, so that a long one takes
// no more memory than the page.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>

#include "api/logs/log_lines.h"

namespace drover::aws {

class LogPage {
 public:
  struct Wanted {
    std::uint64_t limit = 10'000;
    std::uint64_t from = 0;                                           // the first line, of a page that goes forward
    std::uint64_t until = std::numeric_limits<std::uint64_t>::max();  // no line from here on, of one that goes back
    bool is_forward = false;
    std::int64_t start_ms = std::numeric_limits<std::int64_t>::min();
    std::int64_t end_ms = std::numeric_limits<std::int64_t>::max();
  };
  explicit LogPage(const Wanted& wanted) : wanted_(wanted), lines_(wanted.from) {}

  /// A piece of the log, as LogLines takes it. False: the rest of the log is not needed.
  bool add(std::string_view piece);
  /// events, nextForwardToken and nextBackwardToken.
  boost::json::object finish();

 private:
  /// False: no line after this one is needed.
  bool add_line(LogLine line);

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;  // of a page, as AWS has it

  const Wanted wanted_;
  LogLines lines_;
  std::uint64_t bytes_ = 0;
  bool is_full_ = false;
  std::deque<LogLine> page_;
};

}  // namespace drover::aws
