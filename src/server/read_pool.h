// A few threads that may wait for disks, each with a read-only connection to the ledger: what lists, shows and searches
// never stands in the way of a commit.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fair_queue.h"
#include "base/holder.h"
#include "base/result.h"
#include "ports/store.h"

namespace drover {

class ReadPool {
 public:
  struct Size {
    std::size_t threads = 0;
    std::size_t of_one = 0;  // how many of them may work for one holder at a time
  };
  static Result<std::unique_ptr<ReadPool>> start(const std::string& database, const Size& size);
  /// What was handed over is done before it goes.
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  /// Holders have their turns one after another, each with its work in order.
  void post(const Holder& holder, std::function<void()> work);
  /// The connection of the pool's thread that this is called on.
  static StoreReader& reader();

 private:
  explicit ReadPool(std::size_t of_one) : work_(of_one) {}
  void run(StoreReader& reader);

  std::vector<std::unique_ptr<StoreReader>> readers_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  FairQueue<std::function<void()>> work_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover
