// What other threads want done on an I/O thread. It outlives the thread, so that a reply which comes too late finds a
// closed door and not a ruin.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace drover {

class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  using Task = std::move_only_function<void()>;

  explicit Inbox(boost::asio::io_context& context) : context_(&context) {}

  /// From any thread. Tasks run in order on the I/O thread, never within this call; many posted at a time wake it once.
  /// After close() they are dropped.
  void post(Task task);
  /// What has not run never will.
  void close();

  /// Called on the I/O thread before anything else.
  void settle_here() { thread_ = std::this_thread::get_id(); }
  /// True on the I/O thread.
  bool is_here() const { return std::this_thread::get_id() == thread_; }
  /// On the I/O thread: true once for each task. Until then no connection runs, and the task may run one.
  bool take_turn() { return std::exchange(has_turn_, false); }

 private:
  void run();

  std::mutex mutex_;                  // guards what follows
  boost::asio::io_context* context_;  // nothing: closed
  std::vector<Task> tasks_;

  std::atomic<std::thread::id> thread_;
  bool has_turn_ = false;  // the I/O thread's alone
};

}  // namespace drover
