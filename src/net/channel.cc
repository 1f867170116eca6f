#include "net/channel.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace drover {
namespace {

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

void SslDeleter::operator()(ssl_st* ssl) const {
  SSL_free(ssl);
}

Channel::Moved Channel::of_ssl(int result, std::size_t bytes) const {
  if (result > 0) return {Outcome::moved, bytes};
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return {Outcome::wants_read};
    case SSL_ERROR_WANT_WRITE: return {Outcome::wants_write};
    case SSL_ERROR_ZERO_RETURN: return {Outcome::ended};
    default: return {Outcome::failed};
  }
}

Channel::Greeting Channel::greeting() const {
  char first = 0;
  const ssize_t got = recv(socket_, &first, 1, MSG_PEEK);
  if (got < 0 && would_wait()) return Greeting::none_yet;
  // A handshake begins with the byte 22, a request with the name of its method.
  return got == 1 && first >= 'A' && first <= 'Z' ? Greeting::plain_http : Greeting::other;
}

Channel::Moved Channel::handshake() {
  if (!ssl_) return {};
  // What other connections of this thread left there would be taken for this one's.
  ERR_clear_error();
  return of_ssl(SSL_accept(ssl_.get()), 0);
}

Channel::Moved Channel::read(std::span<char> into) {
  if (ssl_) {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
    return of_ssl(result, got);
  }
  const ssize_t got = recv(socket_, into.data(), into.size(), 0);
  if (got > 0) return {Outcome::moved, static_cast<std::size_t>(got)};
  if (got == 0) return {Outcome::ended};
  return {would_wait() ? Outcome::wants_read : Outcome::failed};
}

Channel::Moved Channel::write(std::span<const std::string_view> pieces) {
  if (ssl_) {
    ERR_clear_error();
    std::size_t sent = 0;
    const int result = SSL_write_ex(ssl_.get(), pieces.front().data(), pieces.front().size(), &sent);
    return of_ssl(result, sent);
  }
  std::array<iovec, kMostPieces> vectors;
  const std::size_t count = std::min(pieces.size(), vectors.size());
  for (std::size_t i = 0; i < count; ++i) {
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
  if (sent >= 0) return {Outcome::moved, static_cast<std::size_t>(sent)};
  return {would_wait() ? Outcome::wants_write : Outcome::failed};
}

bool Channel::holds_bytes() const {
  return ssl_ && SSL_has_pending(ssl_.get()) == 1;
}

void Channel::abandon() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  abandoned_ = true;
}

void Channel::end_writing() {
  if (abandoned_) return;
  if (ssl_ && SSL_is_init_finished(ssl_.get())) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  shutdown(socket_, SHUT_WR);
}

}  // namespace drover
