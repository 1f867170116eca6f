// Work on many objects, side by side on a few threads, each with its own connections. What fails is reported and does
// not stop the rest.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "objects/store_opener.h"

namespace drover {

/// The connections of one thread.
class OpenStores {
 public:
  explicit OpenStores(const StoreOpener& opener) : opener_(opener) {}
  /// Lives as long as this does.
  Result<ObjectStore*> get(const ObjectUri& uri);

 private:
  const StoreOpener& opener_;
  std::map<std::string, std::unique_ptr<ObjectStore>> stores_;
};

class ObjectWork {
 public:
  using Task = std::function<Result<void>(OpenStores& stores)>;
  /// From the threads, one at a time.
  using Failed = std::function<void(const Error&)>;

  ObjectWork(const StoreOpener& opener, std::size_t threads, Failed failed);
  ~ObjectWork() { (void)finish(); }
  ObjectWork(const ObjectWork&) = delete;
  ObjectWork& operator=(const ObjectWork&) = delete;

  /// Waits while much is waiting already.
  void add(Task task);
  /// Until all has been done: how many tasks failed.
  std::uint64_t finish();

 private:
  void work();

  const StoreOpener& opener_;
  const Failed failed_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool ending_ = false;
  std::uint64_t failures_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace drover
