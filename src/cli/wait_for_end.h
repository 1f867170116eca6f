// Waiting until a run of this machine or a server's job has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

/// Exit status of a wait that its --timeout ended, as timeout(1) has it.
inline constexpr int kTimedOut = 124;

struct WaitLimits {
  CommonFlags common;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

/// Waits for a run and prints how it ended. The exit status is the one that `drover run` would have had.
Result<int> wait_for_run(const WaitLimits& limits, const std::string& reference);

/// The same for a server's job. A server that stops answering is waited for; so is one that never answers, if it is
/// known to have the job.
enum class JobIs : std::uint8_t { known, to_be_found };
Result<int> wait_for_job(ServerClient& client, const WaitLimits& limits, const std::string& job, JobIs job_is);

}  // namespace drover
