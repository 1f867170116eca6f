#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "answer.h"

namespace hostile {

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Peer::Peer(const Target& target, BadRequest request, std::int64_t patience_ms)
    : request_(std::move(request)), began_ms_(now_ms()), until_ms_(began_ms_ + patience_ms), due_ms_(began_ms_) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(target.port);
  inet_pton(AF_INET, target.host.c_str(), &address.sin_addr);
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return;
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
    ::close(std::exchange(socket_, -1));
  }
}

Peer::Peer(Peer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      request_(std::move(other.request_)),
      began_ms_(other.began_ms_),
      until_ms_(other.until_ms_),
      piece_(other.piece_),
      sent_(other.sent_),
      due_ms_(other.due_ms_),
      is_blocked_(other.is_blocked_),
      said_all_(other.said_all_),
      lost_patience_(other.lost_patience_),
      heard_(std::move(other.heard_)) {}

Peer::~Peer() {
  if (socket_ < 0) return;
  if (request_.ending == Ending::slams) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::close(socket_);
}

std::int64_t Peer::next_ms() const {
  return said_all_ || is_blocked_ ? until_ms_ : std::min(until_ms_, due_ms_);
}

bool Peer::go_on() {
  if (!send_due() || !take()) return false;
  lost_patience_ = now_ms() >= until_ms_;
  return !lost_patience_ && !(said_all_ && is_enough(request_, heard_));
}

bool Peer::send_due() {
  is_blocked_ = false;
  while (!said_all_ && now_ms() >= due_ms_) {
    if (piece_ == request_.pieces.size()) {
      said_all_ = true;
      if (request_.ending == Ending::half_close) ::shutdown(socket_, SHUT_WR);
      return request_.ending == Ending::waits || request_.ending == Ending::half_close;
    }
    const std::string& bytes = request_.pieces[piece_].bytes;
    const ssize_t sent = ::send(socket_, bytes.data() + sent_, bytes.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
      is_blocked_ = true;
      return true;
    }
    if (sent < 0) {
      said_all_ = true;  // the server has had enough; what it said is read
      return true;
    }
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < bytes.size()) continue;
    sent_ = 0;
    if (++piece_ < request_.pieces.size()) due_ms_ = now_ms() + request_.pieces[piece_].after_ms;
  }
  return true;
}

bool Peer::take() {
  char buffer[16384];
  while (true) {
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got > 0) {
      heard_.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    return got < 0 && (errno == EAGAIN || errno == ENOTCONN);
  }
}

}  // namespace hostile
