#include "cli/object_work.h"

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kMostTasksWaiting = 1000;

}  // namespace

Result<ObjectStore*> OpenStores::get(const ObjectUri& uri) {
  auto& store = stores_[uri.with_key({}).text()];
  if (!store) {
    auto opened = opener_.open(uri);
    if (!opened) return pass(opened);
    store = std::move(*opened);
  }
  return store.get();
}

ObjectWork::ObjectWork(const StoreOpener& opener, std::size_t threads, Failed failed)
    : opener_(opener), failed_(std::move(failed)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void ObjectWork::add(Task task) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.size() < kMostTasksWaiting; });
  tasks_.push_back(std::move(task));
  lock.unlock();
  changed_.notify_all();
}

std::uint64_t ObjectWork::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& it : threads_) it.join();
  threads_.clear();
  return failures_;
}

void ObjectWork::work() {
  OpenStores stores(opener_);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !tasks_.empty() || ending_; });
    if (tasks_.empty()) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    changed_.notify_all();
    if (auto done = task(stores); !done) {
      const std::lock_guard again(mutex_);
      ++failures_;
      failed_(done.error());
    }
  }
}

}  // namespace drover
