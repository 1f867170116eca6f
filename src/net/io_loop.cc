#include "net/io_loop.h"

#include <algorithm>
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

void IoLoop::watch_clock() {
  clock_.expires_after(tick_);
  clock_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    const std::int64_t now = now_ms();
    for (auto it = connections_.begin(); it != connections_.end();) {
      const std::shared_ptr<Connection> connection = *it++;
      connection->look_at_clock(now);
    }
    watch_clock();
  });
}

void IoLoop::adopt(Socket socket, UniqueSsl ssl, std::string peer) {
  inbox_->post([this, socket = std::move(socket), ssl = std::move(ssl), peer = std::move(peer)]() mutable {
    auto connection = std::make_shared<Connection>(*this, std::move(socket), std::move(ssl), std::move(peer));
    connections_.push_front(connection);
    connection->place_ = connections_.begin();
    connection->run();
  });
}

void IoLoop::forget(std::list<std::shared_ptr<Connection>>::iterator place) {
  connections_.erase(place);
  const std::scoped_lock lock(server_.mutex);
  if (--server_.connections == 0) server_.changed.notify_all();
}

void IoLoop::close_idle() {
  inbox_->post([this] {
    for (auto it = connections_.begin(); it != connections_.end();) (*it++)->close_if_idle();
  });
}

void IoLoop::stop() {
  if (!thread_.joinable()) return;
  inbox_->post([this] {
    while (!connections_.empty()) connections_.front()->close();
    context_.stop();
  });
  thread_.join();
  inbox_->close();
}

}  // namespace drover
