// How many threads the server has for what.
#pragma once

#include <algorithm>
#include <thread>

#include "server/read_pool.h"

namespace drover {

// One key at most keeps all but one of these threads busy.
inline constexpr ReadPool::Size kReadersForPeople{.threads = 3, .of_one = 2};
inline constexpr ReadPool::Size kReadersForWorkers{.threads = 2, .of_one = 2};
inline constexpr ReadPool::Size kReadersForSearches{.threads = 2, .of_one = 1};

/// They bring bodies to and from disks, and wait for those more than they work.
inline constexpr int kDiskThreads = 8;

/// They read requests, check signatures and write answers; the core and the store have threads of their own.
inline int io_threads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 2U, 8U));
}

}  // namespace drover
