// An HTTP/1.1 server: bytes and connections, no meaning. A few I/O threads read and write without ever waiting for
// anything else; a few more threads wait for disks in their place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_limits.h"
#include "net/tls_identity.h"
#include "ports/http.h"

namespace drover {

struct HttpServerOptions {
  std::vector<std::string> listen;  // "127.0.0.1:8750", "[::1]:0", "unix:/path/to.sock"
  std::optional<TlsIdentity> tls;   // for every address but Unix sockets
  int io_threads = 1;
  int pool_threads = 2;  // call sinks and sources
  HttpLimits limits;
};

class HttpServer {
 public:
  /// The handler outlives the server.
  static Result<std::unique_ptr<HttpServer>> start(const HttpServerOptions& options, HttpHandler& handler);
  /// Stops it without grace.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// What it listens on, with the ports it got, in the order asked for.
  const std::vector<std::string>& addresses() const;
  /// For connections that come from now on. Only where it was started with TLS.
  Result<void> set_tls(const TlsIdentity& identity);
  /// Accepts no more, and waits until what is under way has been answered, at most so long; then closes everything.
  /// Long polls and streams are under way until their owner ends them. Not from a handler.
  void stop(std::int64_t grace_ms);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace drover
