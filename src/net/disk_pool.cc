#include "net/disk_pool.h"

#include "net/quiet_thread.h"

namespace drover {

DiskPool::DiskPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.push_back(quiet_thread([this] { run(); }));
}

void DiskPool::post(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void DiskPool::close() {
  std::deque<Task> dropped;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    dropped.swap(tasks_);
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
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace drover
