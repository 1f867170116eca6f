// What a person or a program sees of a run: one progress line, then a summary; or JSON lines.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <string>

#include "cli/verb.h"
#include "worker/local_run.h"
#include "worker/run_summary.h"

namespace drover {

class Reporter {
 public:
  Reporter(const CommonFlags& flags, std::string name);

  void started(const Job& job, bool resumed);
  void progress(const RunProgress& progress);
  void notice(const std::string& text);
  /// Takes the progress line off the terminal.
  void clear_line();
  Result<void> summary(StoreReader& reader, const Job& job, bool interrupted);

 private:
  double seconds() const;

  CommonFlags flags_;
  std::string name_;
  bool terminal_;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_plain_ = begun_;
  std::uint64_t done_at_start_ = 0;
};

/// A job as every face shows it.
boost::json::object job_to_json(const Job& job, const ItemCounts& counts);

/// Text that can stand in JSON: what is not UTF-8 is replaced.
std::string utf8(std::string_view bytes);

}  // namespace drover
