// One keep-alive connection over which a worker speaks to a server: a call at a time, plain or with TLS.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

namespace drover {

/// Whom workers trust. Kept as long as a channel that was given it.
class TrustedAuthority {
 public:
  explicit TrustedAuthority(const std::string& ca_file);
  SSL_CTX* context() const { return context_.get(); }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

struct ServerPlace {
  std::string host;  // an address, not a name
  int port = 0;
  std::string key;
  const TrustedAuthority* authority = nullptr;  // nothing: plain HTTP
};

/// Whatever goes wrong ends the program.
class WorkerChannel {
 public:
  /// Connects, and shakes hands.
  explicit WorkerChannel(const ServerPlace& place);
  ~WorkerChannel();
  WorkerChannel(const WorkerChannel&) = delete;
  WorkerChannel& operator=(const WorkerChannel&) = delete;

  int socket() const { return socket_; }
  void send(const std::string& call, const std::string& body);
  /// To be called when the socket is readable: the answer's body, once all of it is there.
  std::optional<std::string> receive();

 private:
  bool read_some();

  const std::string key_;
  int socket_ = -1;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
  std::string in_;
};

}  // namespace drover
