// Logs as bodies of responses: made piece by piece, as fast as the reader takes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logs/lines.h"
#include "logs/log_reader.h"
#include "ports/backend.h"

namespace drover {

/// What an attempt printed, in the form that is asked for.
class LogText {
 public:
  LogText(const LogKey& key, LogForm form, bool only_stderr);

  /// Of the next frame.
  Result<std::string> next(LogReader& reader, const FramePlace& place);
  /// What was never ended with a newline, where lines are asked for.
  std::string finish();
  /// Something that drover has to say of it.
  std::string note(std::string_view words);

 private:
  void add_line(LogStream stream, std::int64_t time_ms, std::string_view line);

  const LogKey key_;
  const LogForm form_;
  const bool only_stderr_;
  std::string text_;
  LineBlocks lines_;
};

/// The output of these attempts, one after another.
Result<std::unique_ptr<HttpBodySource>> log_body(const std::string& folder, const std::vector<Attempt>& attempts,
                                                 const LogQuestion& question);

}  // namespace drover
