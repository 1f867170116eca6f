// One I/O thread and the connections that live on it.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "net/connection.h"
#include "net/disk_pool.h"
#include "net/http_limits.h"
#include "net/inbox.h"

namespace drover {

/// What the connections of all threads share.
struct ServerState {
  HttpHandler& handler;
  const HttpLimits limits;
  DiskPool pool;
  std::atomic<bool> stopping = false;

  std::mutex mutex = {};  // guards what follows
  std::condition_variable changed = {};
  std::size_t connections = 0;
  HolderCounts holders = HolderCounts(limits.for_holders());
};

class IoLoop {
 public:
  explicit IoLoop(ServerState& server);
  /// Closes what is open.
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // From any thread.

  void start();
  /// A new peer. Its socket is registered here.
  void adopt(Socket socket, UniqueSsl ssl, std::string peer);
  void close_idle();
  /// Closes every connection, ends the thread and waits for it.
  void stop();
  boost::asio::io_context& context() { return context_; }
  const std::shared_ptr<Inbox>& inbox() const { return inbox_; }

  // For its connections, on its thread.

  ServerState& server() { return server_; }
  /// Room for bytes that are used up within one step.
  std::span<char> scratch() { return *scratch_; }
  /// A request of this peer was handed on.
  void get_to_know(Connection& connection);
  /// From now on the connection counts for this holder. False: the holder has too many.
  bool count_for(Connection& connection, const Holder& holder);
  void forget(Connection& connection);
  /// A request is handed on, and perhaps more that came with it: the handler is told so before the first of them and
  /// after the last.
  void begin_turn();

  static std::int64_t now_ms();

 private:
  void run();
  void watch_clock();
  void end_turn();
  bool count_one_more();
  template <class Visit>
  void each(Visit&& visit);

  ServerState& server_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer clock_;
  std::chrono::milliseconds tick_;
  std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<std::array<char, (std::size_t{64} << 10)>> scratch_;
  std::list<std::shared_ptr<Connection>> strangers_;  // no request of theirs was ever handed on; the newest first
  std::list<std::shared_ptr<Connection>> known_;
  bool in_turn_ = false;
  std::thread thread_;
};

}  // namespace drover
