#include "net/http_server.h"

#include <unistd.h>

#include <chrono>
#include <future>

#include "base/check.h"
#include "net/io_loop.h"
#include "net/listener.h"
#include "net/tls_context.h"

namespace drover {

struct HttpServer::Parts {
  Parts(const HttpServerOptions& options, HttpHandler& handler)
      : state{.handler = handler, .limits = options.limits, .pool = DiskPool(options.pool_threads)} {
    for (int i = 0; i < options.io_threads; ++i) loops.push_back(std::make_unique<IoLoop>(state));
  }

  /// On the first loop's thread.
  void accepted(int number, std::string peer, bool is_local);

  std::shared_ptr<const TlsContext> tls_now() {
    const std::scoped_lock lock(tls_mutex);
    return tls;
  }

  ServerState state;
  std::vector<std::unique_ptr<IoLoop>> loops;
  std::vector<std::unique_ptr<Listener>> listeners;  // on the first loop
  std::vector<std::string> addresses;
  std::size_t next_loop = 0;
  bool stopped = false;

  std::mutex tls_mutex;  // guards what follows
  std::shared_ptr<const TlsContext> tls;
};

void HttpServer::Parts::accepted(int number, std::string peer, bool is_local) {
  IoLoop& loop = *loops[next_loop++ % loops.size()];
  Socket socket(loop.context());
  boost::system::error_code error;
  if (socket.assign(number, error)) {
    ::close(number);
    return;
  }
  UniqueSsl ssl;
  if (const auto context = is_local ? nullptr : tls_now()) {
    ssl = context->accept(number);
    if (!ssl) return;
  }
  loop.adopt(std::move(socket), std::move(ssl), std::move(peer));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpServerOptions& options, HttpHandler& handler) {
  DROVER_CHECK(options.io_threads > 0 && options.pool_threads > 0, "a server needs threads of both kinds");
  auto parts = std::make_unique<Parts>(options, handler);
  if (options.tls) {
    auto tls = TlsContext::make(*options.tls);
    if (!tls) return pass(tls);
    parts->tls = std::move(*tls);
  }
  for (const std::string& address : options.listen) {
    auto listener = Listener::open(parts->loops.front()->context(), address);
    if (!listener) return pass(listener);
    parts->addresses.push_back((*listener)->address());
    parts->listeners.push_back(std::move(*listener));
  }
  for (const auto& loop : parts->loops) loop->start();
  parts->loops.front()->inbox()->post([it = parts.get()] {
    for (const auto& listener : it->listeners) {
      listener->accept([it, is_local = listener->is_local()](int number, std::string peer) {
        it->accepted(number, std::move(peer), is_local);
      });
    }
  });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() {
  stop(0);
}

const std::vector<std::string>& HttpServer::addresses() const {
  return parts_->addresses;
}

Result<void> HttpServer::set_tls(const TlsIdentity& identity) {
  auto tls = TlsContext::make(identity);
  if (!tls) return pass(tls);
  const std::scoped_lock lock(parts_->tls_mutex);
  DROVER_CHECK(parts_->tls, "who connected in plain yesterday would be met by a handshake");
  parts_->tls = std::move(*tls);
  return {};
}

void HttpServer::stop(std::int64_t grace_ms) {
  if (std::exchange(parts_->stopped, true)) return;
  std::promise<void> closed;
  parts_->loops.front()->inbox()->post([&] {
    for (const auto& listener : parts_->listeners) listener->close();
    closed.set_value();
  });
  closed.get_future().wait();
  parts_->state.stopping = true;
  for (const auto& loop : parts_->loops) loop->close_idle();
  {
    std::unique_lock lock(parts_->state.mutex);
    parts_->state.changed.wait_for(lock, std::chrono::milliseconds(grace_ms),
                                   [&] { return parts_->state.connections == 0; });
  }
  for (const auto& loop : parts_->loops) loop->stop();
  parts_->state.pool.close();
}

}  // namespace drover
