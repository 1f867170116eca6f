#include "net/io_loop.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>

#include "net/quiet_thread.h"

namespace drover {
namespace {

/// Deadlines are kept by looking at every connection now and then: cheaper than a timer for each, and exact enough.
std::chrono::milliseconds tick_for(const HttpLimits& limits) {
  const std::int64_t shortest = std::min({limits.header_ms, limits.progress_ms, limits.idle_ms});
  return std::chrono::milliseconds(std::clamp<std::int64_t>(shortest / 8, 5, 1000));
}

}  // namespace

std::int64_t IoLoop::now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

IoLoop::IoLoop(ServerState& server)
    : server_(server),
      work_(context_.get_executor()),
      clock_(context_),
      tick_(tick_for(server.limits)),
      inbox_(std::make_shared<Inbox>(context_)),
      scratch_(std::make_unique<std::array<char, (std::size_t{64} << 10)>>()) {}

IoLoop::~IoLoop() {
  stop();
}

void IoLoop::start() {
  thread_ = quiet_thread([this] { run(); });
}

void IoLoop::run() {
  inbox_->settle_here();
  watch_clock();
  context_.run();
}

/// Each may close itself meanwhile, or get known.
template <class Visit>
void IoLoop::each(Visit&& visit) {
  for (auto* list : {&known_, &strangers_}) {
    for (auto it = list->begin(); it != list->end();) {
      const std::shared_ptr<Connection> connection = *it++;
      visit(*connection);
    }
  }
}

void IoLoop::watch_clock() {
  clock_.expires_after(tick_);
  clock_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    each([now = now_ms()](Connection& connection) { connection.look_at_clock(now); });
    watch_clock();
  });
}

void IoLoop::adopt(Socket socket, UniqueSsl ssl, std::string peer) {
  inbox_->post([this, socket = std::move(socket), ssl = std::move(ssl), peer = std::move(peer)]() mutable {
    // Somebody who takes connections and asks nothing does not keep others out.
    if (!count_one_more()) {
      if (strangers_.empty()) return;
      strangers_.back()->close();
      if (!count_one_more()) return;
    }
    auto connection = std::make_shared<Connection>(*this, std::move(socket), std::move(ssl), std::move(peer));
    strangers_.push_front(connection);
    connection->place_ = strangers_.begin();
    connection->run();
  });
}

bool IoLoop::count_one_more() {
  const std::scoped_lock lock(server_.mutex);
  if (server_.connections >= server_.limits.connections) return false;
  ++server_.connections;
  return true;
}

void IoLoop::get_to_know(Connection& connection) {
  if (std::exchange(connection.is_known_, true)) return;
  known_.splice(known_.begin(), strangers_, connection.place_);
}

bool IoLoop::count_for(Connection& connection, const Holder& holder) {
  if (connection.holder_ && connection.holder_->name == holder.name) return true;
  const std::scoped_lock lock(server_.mutex);
  if (server_.holders.take(holder) != HolderCounts::Outcome::taken) return false;
  if (connection.holder_) server_.holders.give_back(*connection.holder_);
  connection.holder_ = holder;
  return true;
}

void IoLoop::forget(Connection& connection) {
  (connection.is_known_ ? known_ : strangers_).erase(connection.place_);
  const std::scoped_lock lock(server_.mutex);
  if (connection.holder_) server_.holders.give_back(*connection.holder_);
  if (--server_.connections == 0) server_.changed.notify_all();
}

// What the system has reported is handled first: it was put into the same queue before.
void IoLoop::begin_turn() {
  if (std::exchange(in_turn_, true)) return;
  server_.handler.begin_turn();
  boost::asio::post(context_, [this] { end_turn(); });
}

void IoLoop::end_turn() {
  if (std::exchange(in_turn_, false)) server_.handler.end_turn();
}

void IoLoop::close_idle() {
  inbox_->post([this] { each([](Connection& connection) { connection.close_if_idle(); }); });
}

void IoLoop::stop() {
  if (!thread_.joinable()) return;
  inbox_->post([this] {
    each([](Connection& connection) { connection.close(); });
    context_.stop();
  });
  thread_.join();
  inbox_->close();
  end_turn();
}

}  // namespace drover
