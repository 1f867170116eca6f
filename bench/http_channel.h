// One keep-alive connection to a server: a request at a time, plain or with TLS.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace drover {

/// Whom clients trust. Kept as long as a channel that was given it.
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
class HttpChannel {
 public:
  /// Connects, and shakes hands.
  explicit HttpChannel(const ServerPlace& place);
  ~HttpChannel();
  HttpChannel(const HttpChannel&) = delete;
  HttpChannel& operator=(const HttpChannel&) = delete;

  int socket() const { return socket_; }
  /// All of a request: its head and its body.
  void send(std::string_view request);
  /// To be called when the socket is readable: the answer's body, once all of it is there. It is valid until the next
  /// call.
  std::optional<std::string_view> receive();

 private:
  bool read_some();

  int socket_ = -1;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
  std::string in_;
  std::size_t answered_ = 0;  // bytes at the front of it, of an answer that was given out
};

}  // namespace drover
