// Who was refused, in the server's log: a few lines a second, and how many more there were, so that strangers cannot
// fill a disk with it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "server/server_log.h"

namespace drover {

class RefusalLog {
 public:
  explicit RefusalLog(ServerLog& log) : log_(log) {}
  void add(std::string_view line, std::int64_t now_ms);

 private:
  ServerLog& log_;
  std::mutex mutex_;  // guards what follows
  std::int64_t since_ms_ = 0;
  std::uint64_t said_ = 0;  // since then
  std::uint64_t left_out_ = 0;
};

}  // namespace drover
