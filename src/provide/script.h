// A program of the administrator's, which is asked something and answers.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace drover {

struct ScriptLimits {
  std::int64_t time_ms = 60'000;
  std::size_t output_bytes = std::size_t{16} << 20;
};

/// Its standard output. An error has what it said last on its standard error, if it exited with another status than 0;
/// or that it did not end in time, or was stopped, and so was killed with all of its process group. It is not started
/// after a stop.
Result<std::string> run_script(const std::vector<std::string>& words, const std::string& input,
                               const ScriptLimits& limits, const std::stop_token& stop);

}  // namespace drover
