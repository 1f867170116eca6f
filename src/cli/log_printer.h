// How lines of logs look: as they were printed, with their times, behind the number of their item, or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "logs/lines.h"
#include "logs/log_search.h"

namespace drover {

struct LogLook {
  bool json = false;
  bool times = false;
  bool items = false;  // lines of several items stand together
};

class LogPrinter {
 public:
  explicit LogPrinter(LogLook look) : look_(look) {}

  /// False when nobody reads any more.
  bool print(const LogKey& key, const LineBlock& block);
  bool print(const SearchHit& hit);
  /// Why some lines are missing, for programs; people are told by the error.
  void print_problem(const Error& error);
  /// What stands above the lines of one of several attempts. Not in JSON, where each line names its attempt.
  void print_heading(const std::string& text);

 private:
  bool print_line(const LogKey& key, LogStream stream, std::int64_t time_ms, std::string_view text);
  bool write(std::string_view text);

  const LogLook look_;
  bool at_line_start_ = true;
};

}  // namespace drover
