#include "engine/ledger_fetcher.h"

#include <chrono>

#include "ports/item_marks.h"
#include "ports/reopen_page.h"

namespace drover {
namespace {

// After an error; the ledger may be locked or its disk busy.
constexpr std::chrono::seconds kTryAgain{1};

}  // namespace

void LedgerFetcher::want(Wanted wanted) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    wanted_.push_back(std::move(wanted));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  wakes_.notify_one();
}

void LedgerFetcher::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<Command> LedgerFetcher::read(const Wanted& wanted) {
  if (reader_ == nullptr) {
    auto opened = open_();
    if (!opened) return pass(opened);
    reader_ = std::move(*opened);
  }
  if (const auto* marks = std::get_if<MarksWanted>(&wanted)) return read_wanted_marks(*reader_, *marks);
  return read_reopen_page(*reader_, std::get<ReopenWanted>(wanted));
}

void LedgerFetcher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [&] { return stopping_ || !wanted_.empty(); });
    if (stopping_) return;
    Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    lock.unlock();
    auto found = read(wanted);
    if (found) send_(std::move(*found));
    lock.lock();
    if (found) continue;
    reader_.reset();
    wanted_.push_back(std::move(wanted));
    wakes_.wait_for(lock, kTryAgain, [&] { return stopping_; });
  }
}

}  // namespace drover
