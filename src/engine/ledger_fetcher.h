// Reads what the core asks for from the ledger, on a thread of its own, and sends it to the core: the next pages of
// retries that are under way, and the marks of ended jobs' items. The thread starts when something is first asked for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>

#include "ports/store.h"

namespace drover {

class LedgerFetcher {
 public:
  using OpenReader = std::function<Result<std::unique_ptr<StoreReader>>()>;
  using Send = std::function<void(Command)>;
  using Wanted = std::variant<ReopenWanted, MarksWanted>;

  LedgerFetcher(OpenReader open, Send send) : open_(std::move(open)), send_(std::move(send)) {}
  ~LedgerFetcher() { stop(); }
  LedgerFetcher(const LedgerFetcher&) = delete;
  LedgerFetcher& operator=(const LedgerFetcher&) = delete;

  /// Waits for nothing.
  void want(Wanted wanted);
  /// Sends nothing more when it returns.
  void stop();

 private:
  void run();
  Result<Command> read(const Wanted& wanted);

  const OpenReader open_;
  const Send send_;
  std::unique_ptr<StoreReader> reader_;  // the thread's alone

  std::mutex mutex_;  // guards everything below
  std::condition_variable wakes_;
  std::deque<Wanted> wanted_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace drover
