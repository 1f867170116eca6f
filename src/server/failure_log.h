// Requests that were refused or failed, in the server's log: a few a second, and how many more there were, so that
// strangers cannot fill a disk with it.
#pragma once

#include <cstdint>
#include <mutex>

#include "engine/system_clock.h"
#include "server/server_log.h"

namespace drover {

class FailureLog {
 public:
  explicit FailureLog(ServerLog& log) : log_(log) {}
  void add(const RequestLine& line);

 private:
  ServerLog& log_;
  SystemSteadyClock steady_;
  std::mutex mutex_;  // guards what follows
  std::int64_t since_ns_ = 0;
  std::uint64_t said_ = 0;  // since then
  std::uint64_t left_out_ = 0;
};

}  // namespace drover
