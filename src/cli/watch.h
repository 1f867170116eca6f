// drover status --watch: a screen that is drawn anew each second, until somebody presses q.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

/// A run on this machine.
Result<int> watch_run(const CommonFlags& common, const std::string& reference);
/// One job of a server.
Result<int> watch_job(const CommonFlags& common, const ServerFlags& server, const std::string& job);
/// All jobs of a server, and its workers.
Result<int> watch_jobs(const CommonFlags& common, const ServerFlags& server);

}  // namespace drover
