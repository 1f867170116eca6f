// The two threads that turn the stepper: the core thread applies, the store thread commits and lets the answers out. At
// most two batches are under way: one being committed while the next is filled. What is applied before the store comes
// to the next one is part of it, so that as many commands as possible share a commit. The core sleeps while the store
// commits, unless many commands come: their answers have to wait for that commit in any case, and to wake a thread for
// each of them would cost more than to apply them.
// A failed commit stops the engine for good: what is in memory is then ahead of what is durable, and only a new start
// from the store makes them one again.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/ledger_fetcher.h"
#include "engine/stepper.h"
#include "engine/timeline.h"
#include "ports/store.h"

namespace drover {

class Engine {
 public:
  /// Gets a command's answer, on the store's thread; or an error, once, when the engine has stopped.
  using Reply = std::function<void(Result<Effect>)>;
  /// Gets what is said to nobody in particular, on the store's thread.
  using Listener = std::function<void(const Effect&)>;

  /// Loads the core from the store and starts the threads. Retries of many items go on, and ended jobs are
  /// reopened, only where `open_reader` is given.
  static Result<std::unique_ptr<Engine>> start(Store& store, WallClock& wall, SteadyClock& steady, Listener listener,
                                               LedgerFetcher::OpenReader open_reader = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void post(Command command, Reply reply);
  /// Until the next release() many commands may be posted one after another: it is enough to apply them all then.
  void hold();
  void release();
  /// Posts and waits for the answer.
  Result<Effect> ask(Command command);

  std::int64_t now_ms() const { return timeline_.now_ms(); }
  /// How long before its start something had last changed, if the clock is right; 0: never.
  std::int64_t quiet_before_ms() const { return quiet_before_ms_; }
  /// What stopped it for good, if something has.
  std::optional<Error> failure();

 private:
  /// So many commands are applied while the store is busy; fewer can wait for it.
  static constexpr std::size_t kWorthWaking = 64;

  Engine(Store& store, Timeline timeline, std::int64_t quiet_before_ms, Core core, Listener listener,
         LedgerFetcher::OpenReader open_reader);
  bool may_step() const;
  /// With so many commands the core is woken.
  std::size_t enough_work() const { return committing_ || (holds_ > 0 && !is_released_) ? kWorthWaking : 1; }
  void run_core();
  void run_store();
  /// Those of the answers' tickets, in the same order; none where nobody waits.
  std::vector<Reply> take_replies(const std::vector<Answer>& answers);
  void let_out(std::vector<Answer> answers);
  void fetch(LedgerFetcher::Wanted wanted);
  void stop_with(const Error& error);

  Store& store_;
  const Timeline timeline_;
  const std::int64_t quiet_before_ms_;
  const Listener listener_;
  Stepper stepper_;  // the core thread's alone

  std::mutex mutex_;  // guards everything below
  std::condition_variable core_wakes_;
  std::condition_variable store_wakes_;
  std::vector<Request> inbox_;
  int holds_ = 0;
  bool is_released_ = false;  // what is in the inbox, or some of it
  std::optional<Step> next_;  // to be committed
  bool committing_ = false;
  bool letting_out_ = false;  // the answers of what was committed last
  std::int64_t committing_since_ms_ = 0;
  std::map<Ticket, Reply> waiting_;
  std::uint64_t next_ticket_ = 1;
  bool closing_ = false;
  bool core_done_ = false;
  std::optional<Error> failed_;

  std::unique_ptr<LedgerFetcher> fetcher_;
  std::thread core_thread_;
  std::thread store_thread_;
};

}  // namespace drover
