#include "server/read_pool.h"

#include "base/check.h"
#include "store/sqlite_store.h"

namespace drover {
namespace {

thread_local StoreReader* current_reader = nullptr;

}  // namespace

Result<std::unique_ptr<ReadPool>> ReadPool::start(const std::string& database, const Size& size) {
  std::unique_ptr<ReadPool> pool(new ReadPool(size.of_one));
  for (std::size_t i = 0; i < size.threads; ++i) {
    auto reader = open_sqlite_reader(database);
    if (!reader) return pass(reader);
    pool->readers_.push_back(std::move(*reader));
  }
  for (const auto& reader : pool->readers_) {
    pool->threads_.emplace_back([it = pool.get(), &reader = *reader] { it->run(reader); });
  }
  return pool;
}

ReadPool::~ReadPool() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wakes_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadPool::post(const Holder& holder, std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    work_.push(holder.name, std::move(work));
  }
  wakes_.notify_one();
}

StoreReader& ReadPool::reader() {
  DROVER_CHECK(current_reader != nullptr, "the ledger is read on the pool's threads");
  return *current_reader;
}

void ReadPool::run(StoreReader& reader) {
  current_reader = &reader;
  std::unique_lock lock(mutex_);
  while (true) {
    auto taken = work_.pop();
    if (!taken) {
      // What waits for its holder's turn is done by the thread that this turn ends on.
      if (closing_) return;
      wakes_.wait(lock);
      continue;
    }
    lock.unlock();
    taken->work();
    taken->work = nullptr;
    lock.lock();
    work_.finished(taken->holder);
  }
}

}  // namespace drover
