#include "http_channel.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "measure.h"

namespace drover {

TrustedAuthority::TrustedAuthority(const std::string& ca_file)
    : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
  if (SSL_CTX_load_verify_locations(context(), ca_file.c_str(), nullptr) != 1) give_up("cannot read " + ca_file);
  SSL_CTX_set_verify(context(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_clear_mode(context(), SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_mode(context(), SSL_MODE_RELEASE_BUFFERS);
}

HttpChannel::HttpChannel(const ServerPlace& place) {
  addrinfo* found = nullptr;
  const addrinfo numeric{.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  if (::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &numeric, &found) != 0) {
    give_up(place.host + " is not an address");
  }
  socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || ::connect(socket_, found->ai_addr, found->ai_addrlen) != 0) {
    give_up(errno_error(errno, "cannot connect").message);
  }
  ::freeaddrinfo(found);
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (place.authority == nullptr) return;
  tls_.reset(SSL_new(place.authority->context()));
  SSL_set_fd(tls_.get(), socket_);
  if (SSL_connect(tls_.get()) != 1) give_up("the server does not agree on TLS");
  // What can be read from now on may be no more than a ticket for the next session.
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

HttpChannel::~HttpChannel() {
  ::close(socket_);
}

void HttpChannel::send(std::string_view request) {
  if (tls_) {
    if (SSL_write(tls_.get(), request.data(), static_cast<int>(request.size())) <= 0) give_up("cannot send");
    return;
  }
  while (!request.empty()) {
    const ssize_t sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0) give_up("cannot send");
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// False: there is nothing more for now.
bool HttpChannel::read_some() {
  constexpr std::size_t kMost = 65536;
  const std::size_t before = in_.size();
  ssize_t got = 0;
  in_.resize_and_overwrite(before + kMost, [&](char* bytes, std::size_t) {
    got = tls_ ? SSL_read(tls_.get(), bytes + before, kMost) : ::recv(socket_, bytes + before, kMost, MSG_DONTWAIT);
    return before + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  });
  if (got > 0) return true;
  const bool waits =
      tls_ ? SSL_get_error(tls_.get(), static_cast<int>(got)) == SSL_ERROR_WANT_READ : got < 0 && errno == EAGAIN;
  if (!waits) give_up("the server closed a connection");
  return tls_ && SSL_pending(tls_.get()) > 0;
}

std::optional<std::string_view> HttpChannel::receive() {
  in_.erase(0, std::exchange(answered_, 0));
  while (true) {
    const std::size_t head = in_.find("\r\n\r\n");
    if (head != std::string::npos) {
      const std::size_t at = in_.find("Content-Length: ");
      const std::size_t length = at < head ? std::strtoull(in_.c_str() + at + 16, nullptr, 10) : 0;
      if (in_.size() >= head + 4 + length) {
        if (!in_.starts_with("HTTP/1.1 200")) give_up("the server said: " + in_.substr(0, 400));
        answered_ = head + 4 + length;
        return std::string_view(in_).substr(head + 4, length);
      }
    }
    if (!read_some()) return std::nullopt;
  }
}

}  // namespace drover
