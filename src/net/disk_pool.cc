#include "net/disk_pool.h"

#include "net/quiet_thread.h"

namespace drover {

DiskPool::DiskPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.push_back(quiet_thread([this] { run(); }));
}

void DiskPool::post(const std::string& holder, Task task) {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    tasks_.push(holder, std::move(task));
  }
  changed_.notify_one();
}

void DiskPool::close() {
  FairQueue<Task> dropped;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    std::swap(dropped, tasks_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void DiskPool::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closed_ || !tasks_.empty(); });
    if (closed_) return;
    auto taken = tasks_.pop();
    if (!taken) continue;
    lock.unlock();
    taken->work();
    taken->work = nullptr;
    lock.lock();
    tasks_.finished(taken->holder);
  }
}

}  // namespace drover
