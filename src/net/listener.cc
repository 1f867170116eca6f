#include "net/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/text.h"
#include "net/socket_path.h"

namespace drover {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kBacklog = 4096;
constexpr int kMostAtOnce = 64;
/// What is missing (descriptors, memory) comes back when somebody leaves.
constexpr std::chrono::milliseconds kPause{100};

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

struct HostPort {
  std::string host;
  std::string port;
};

Result<HostPort> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return fail(ErrorCode::bad_input, concat("cannot listen on '", address, "': it has no port"),
                "write it as HOST:PORT, [IPV6]:PORT or unix:/PATH");
  }
  HostPort parts{address.substr(0, colon), address.substr(colon + 1)};
  if (parts.host.starts_with('[') && parts.host.ends_with(']'))
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  if (parts.host.empty()) parts.host = "0.0.0.0";
  return parts;
}

/// "127.0.0.1:8750", "[::1]:8750", or "unix".
std::string text_of(const sockaddr_storage& address, socklen_t size) {
  if (address.ss_family == AF_UNIX) return "unix";
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  if (address.ss_family == AF_INET6) return concat('[', host, "]:", port);
  return concat(host, ':', port);
}

Error listen_error(int error_number, const std::string& address) {
  Error error = errno_error(error_number, concat("cannot listen on ", address));
  if (error_number == EADDRINUSE) {
    error.code = ErrorCode::in_use;
    error.next = "stop the program that listens there, or choose another address";
  }
  if (error_number == EACCES) error.code = ErrorCode::denied;
  return error;
}

/// A socket file that nobody listens on is left over from a process that was killed.
void remove_left_over(const sockaddr_un& address) {
  struct stat status{};
  if (stat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return;
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (connected != 0 && errno == ECONNREFUSED) unlink(address.sun_path);
  ::close(probe);
}

/// A number of its own for a new socket, or what went wrong.
Result<int> open_socket(int family, const std::string& address) {
  const int number = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (number < 0) return std::unexpected(listen_error(errno, address));
  return number;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(boost::asio::io_context& context, const std::string& address) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  const bool is_local = address.starts_with(kUnix);
  std::optional<SocketPath> path;  // until it is bound
  if (is_local) {
    auto opened = SocketPath::open(address.substr(kUnix.size()));
    if (!opened) {
      return fail(opened.error().code, concat("cannot listen on ", address, ": ", opened.error().message),
                  opened.error().next);
    }
    path.emplace(std::move(*opened));
    auto& local = reinterpret_cast<sockaddr_un&>(bound);
    local.sun_family = AF_UNIX;
    path->text().copy(local.sun_path, sizeof local.sun_path - 1);
    size = sizeof local;
    remove_left_over(local);
  } else {
    const auto parts = split(address);
    if (!parts) return std::unexpected(parts.error());
    addrinfo wanted{};
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int trouble = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &wanted, &found);
    const Addresses addresses(found);
    if (trouble != 0) {
      return fail(ErrorCode::bad_input, concat("cannot listen on '", address, "': ", gai_strerror(trouble)),
                  "write it as HOST:PORT, [IPV6]:PORT or unix:/PATH");
    }
    size = addresses->ai_addrlen;
    std::memcpy(&bound, addresses->ai_addr, size);
  }

  const auto socket_number = open_socket(bound.ss_family, address);
  if (!socket_number) return std::unexpected(socket_number.error());
  const int number = *socket_number;
  std::unique_ptr<Listener> listener(new Listener(context, number));
  const int on = 1;
  if (!is_local) setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bound.ss_family == AF_INET6) setsockopt(number, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(number, reinterpret_cast<const sockaddr*>(&bound), size) != 0) {
    return std::unexpected(listen_error(errno, address));
  }
  if (is_local) {
    listener->path_ = address.substr(kUnix.size());
    // Before it listens: whoever may not connect never could.
    chmod(listener->path_.c_str(), 0600);
  }
  if (listen(number, kBacklog) != 0) return std::unexpected(listen_error(errno, address));
  size = sizeof bound;
  getsockname(number, reinterpret_cast<sockaddr*>(&bound), &size);
  listener->address_ = is_local ? address : text_of(bound, size);
  return listener;
}

Listener::~Listener() {
  close();
}

void Listener::accept(Accepted accepted) {
  accepted_ = std::move(accepted);
  wait();
}

void Listener::close() {
  if (!socket_.is_open()) return;
  if (!path_.empty()) unlink(path_.c_str());
  boost::system::error_code ignored;
  static_cast<void>(socket_.close(ignored));
  pause_.cancel();
}

void Listener::wait() {
  socket_.async_wait(Socket::wait_read, [this](boost::system::error_code error) {
    if (!error && socket_.is_open()) accept_all();
  });
}

void Listener::accept_all() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int peer =
        accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer >= 0) {
      const int on = 1;
      if (!is_local()) setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      accepted_(peer, text_of(address, size));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;
    pause_.expires_after(kPause);
    return pause_.async_wait([this](boost::system::error_code error) {
      if (!error && socket_.is_open()) accept_all();
    });
  }
  wait();
}

}  // namespace drover
