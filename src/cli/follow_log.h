// Following what an item prints through a server, attempt after attempt. How many bytes of the attempt were printed is
// counted, so that after a break (the server was started anew, the line was cut) it goes on behind them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/server_client.h"

namespace drover {

struct FollowedLog {
  std::string job;  // its id
  std::string item;
  std::uint32_t attempt = 0;  // only this one; 0: until the item has ended
  bool has_tail = false;      // only the last lines of what is there, of the last attempt
  std::uint64_t tail = 0;
  bool only_stderr = false;
  bool quiet = false;
};

/// Returns when the item, or the attempt, has ended, or nobody reads any more.
Result<void> follow_log(ServerClient& client, const FollowedLog& wanted);

}  // namespace drover
