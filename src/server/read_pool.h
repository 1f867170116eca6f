// A few threads that may wait for disks, each with a read-only connection to the ledger: what lists, shows and searches
// never stands in the way of a commit.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "ports/store.h"

namespace drover {

class ReadPool {
 public:
  static Result<std::unique_ptr<ReadPool>> start(const std::string& database, std::size_t threads);
  /// What was handed over is done before it goes.
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void post(std::function<void()> work);
  /// The connection of the pool's thread that this is called on.
  static StoreReader& reader();

 private:
  ReadPool() = default;
  void run(StoreReader& reader);

  std::vector<std::unique_ptr<StoreReader>> readers_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  std::deque<std::function<void()>> work_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover
