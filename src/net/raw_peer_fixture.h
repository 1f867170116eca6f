// A peer with no manners: sends the bytes it is told to and looks at what comes back. For tests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "ports/http.h"

namespace drover {

/// Generous: machines that run tests are busy.
inline constexpr int kTestPatienceMs = 20'000;

/// Waits for something that comes true by itself, with a bound.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTestPatienceMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class RawPeer {
 public:
  /// With a socket of its own, or one that is not connected yet.
  explicit RawPeer(const std::string& address, int socket = -1) : socket_(socket) {
    if (address.starts_with("unix:")) {
      sockaddr_un local{.sun_family = AF_UNIX, .sun_path = {}};
      address.copy(local.sun_path, sizeof local.sun_path - 1, 5);
      open(local);
    } else if (address.starts_with('[')) {
      sockaddr_in6 six{};
      six.sin6_family = AF_INET6;
      six.sin6_addr = in6addr_loopback;
      six.sin6_port = port_of(address);
      open(six);
    } else {
      sockaddr_in four{};
      four.sin_family = AF_INET;
      four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      four.sin_port = port_of(address);
      open(four);
    }
  }
  ~RawPeer() { leave(); }
  RawPeer(RawPeer&& other) noexcept : socket_(std::exchange(other.socket_, -1)), kept_(std::move(other.kept_)) {}
  RawPeer& operator=(RawPeer&&) = delete;

  int socket() const { return socket_; }

  /// False: the other side would not take all of it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send_some(bytes, kTestPatienceMs);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// 0: there was no room in this time; -1: it is closed.
  ssize_t send_some(std::string_view bytes, int patience_ms) {
    pollfd it{socket_, POLLOUT, 0};
    if (poll(&it, 1, patience_ms) <= 0) return 0;
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void end_sending() { shutdown(socket_, SHUT_WR); }
  void leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  /// Leaves so that the other side sees an error.
  void slam() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    leave();
  }

  /// The next bytes; nothing: the end, or an error.
  std::string read_some() {
    if (!kept_.empty()) return std::exchange(kept_, {});
    pollfd it{socket_, POLLIN, 0};
    if (poll(&it, 1, kTestPatienceMs) <= 0) {
      ADD_FAILURE() << "nothing came";
      return {};
    }
    std::string bytes(std::size_t{64} << 10, '\0');
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    was_reset_ = got < 0;
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  std::string read_to_end() {
    std::string all;
    while (true) {
      const std::string some = read_some();
      if (some.empty()) return all;
      all += some;
    }
  }
  /// Up to and with this text.
  std::string read_until(std::string_view text) {
    std::string all;
    std::size_t at = std::string::npos;
    while ((at = all.find(text)) == std::string::npos) {
      const std::string some = read_some();
      if (some.empty()) return all;
      all += some;
    }
    kept_ = all.substr(at + text.size());
    all.resize(at + text.size());
    return all;
  }
  std::string read_exactly(std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) {
      const std::string some = read_some();
      if (some.empty()) return all;
      all += some;
    }
    kept_ = all.substr(bytes);
    all.resize(bytes);
    return all;
  }
  /// A response with its headers, and its body if it has one by Content-Length or chunks.
  HttpResponse read_response(bool has_body = true) {
    HttpResponse response{.status = 0, .headers = {}, .body = {}};
    const std::string head = read_until("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 ")) return response;
    response.status = std::atoi(head.c_str() + 9);
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      if (end == std::string::npos || colon > end) break;
      response.headers.push_back({head.substr(at, colon - at), head.substr(colon + 2, end - colon - 2)});
      at = end + 2;
    }
    if (!has_body || response.status == 100) return response;
    if (const std::string* length = response.header("content-length")) {
      response.body = read_exactly(std::stoul(*length));
    } else if (response.header("transfer-encoding") != nullptr) {
      while (const std::size_t size = std::strtoul(read_until("\r\n").c_str(), nullptr, 16)) {
        response.body += read_exactly(size);
        read_until("\r\n");
      }
      read_until("\r\n");
    }
    return response;
  }
  /// True: the other side closed, in good order or not, and sent nothing before.
  bool is_closed() { return read_some().empty(); }
  bool was_reset() const { return was_reset_; }

 private:
  static in_port_t port_of(const std::string& address) {
    return htons(static_cast<in_port_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  }
  template <class Address>
  void open(const Address& address) {
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (socket_ < 0) socket_ = ::socket(generic->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(socket_, generic, sizeof address), 0) << std::strerror(errno);
  }

  int socket_ = -1;
  std::string kept_;
  bool was_reset_ = false;
};

}  // namespace drover
