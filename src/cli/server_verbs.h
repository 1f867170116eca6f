// What the verbs for runs say when a server is named: the same questions, about one of its jobs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

Result<int> server_status(const CommonFlags& common, const ServerFlags& server, const std::string& job);
Result<int> server_cancel(const CommonFlags& common, const ServerFlags& server, const std::string& job);
Result<int> server_retry(const CommonFlags& common, const ServerFlags& server, const std::string& job);
Result<int> server_items(const CommonFlags& common, const ServerFlags& server, const std::string& job,
                         const std::string& state, std::int64_t limit);

struct ServerLogs {
  std::string reference;  // JOB:ITEM, or JOB with a pattern
  std::uint32_t attempt = 0;
  bool has_tail = false;
  std::uint64_t tail = 0;
  bool follow = false;
  bool only_stderr = false;
  std::string grep;
  bool ignore_case = false;
  bool failed = false;
};
Result<int> server_logs(const CommonFlags& common, const ServerFlags& server, const ServerLogs& wanted);

}  // namespace drover
