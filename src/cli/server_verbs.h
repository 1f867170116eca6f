// What the verbs for runs say when a server is named: the same questions, about one of its jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

Result<int> server_status(const CommonFlags& common, const ServerFlags& server, const std::string& job);
Result<int> server_cancel(const CommonFlags& common, const ServerFlags& server, const std::string& job);

/// Which of the items that failed run again, and with what. What is not said matches all, and stays as it is.
struct ServerRetry {
  std::string reference;  // JOB or JOB:ITEM
  std::vector<std::uint64_t> items;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string ending;
  double cpus = 0;
  std::string memory;
  std::optional<std::uint64_t> gpus;
};
Result<int> server_retry(const CommonFlags& common, const ServerFlags& server, const ServerRetry& wanted);

struct ServerItems {
  std::string reference;  // JOB or JOB:ITEM
  std::string state;
  std::string sort;
  std::uint64_t limit = 0;  // 0: all
  bool tsv = false;
};
Result<int> server_items(const CommonFlags& common, const ServerFlags& server, const ServerItems& wanted);

struct ServerLogs {
  std::string reference;  // JOB:ITEM, or JOB with a pattern or `failed`
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
