// Threads that may wait for disks, so that the I/O threads never do. Holders have their turns one after another.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fair_queue.h"

namespace drover {

class DiskPool {
 public:
  using Task = std::move_only_function<void()>;

  explicit DiskPool(int threads);
  ~DiskPool() { close(); }
  DiskPool(const DiskPool&) = delete;
  DiskPool& operator=(const DiskPool&) = delete;

  /// From any thread. After close() the task is dropped.
  void post(const std::string& holder, Task task);
  /// Lets go of something whose end may touch a disk.
  template <class T>
  void discard(T thing) {
    if (thing) post({}, [thing = std::move(thing)] {});
  }
  /// Waits for the tasks that run; drops the others.
  void close();

 private:
  void run();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  FairQueue<Task> tasks_;
  bool closed_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace drover
