#include "worker/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>

#include "base/text.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr int kPatienceMs = 60'000;
constexpr int kAnswerPatienceMs = 1'000;

/// A socket's address may be 107 bytes long and a folder's path longer: the folder is opened, and the address goes
/// through its descriptor.
class SocketAddress {
 public:
  explicit SocketAddress(const std::string& folder) : folder_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    const std::string path = concat("/proc/self/fd/", folder_, "/control.sock");
    path.copy(address_.sun_path, sizeof address_.sun_path - 1);
  }
  ~SocketAddress() {
    if (folder_ >= 0) close(folder_);
  }
  SocketAddress(const SocketAddress&) = delete;
  SocketAddress& operator=(const SocketAddress&) = delete;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static socklen_t size() { return sizeof(sockaddr_un); }

 private:
  int folder_;
  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
};

/// Most answers fit into the socket's buffer. The run does not wait for a client that does not read the rest.
void send_all(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    pollfd writable{connection, POLLOUT, 0};
    if (sent < 0 && (errno != EAGAIN || poll(&writable, 1, kAnswerPatienceMs) <= 0)) return;
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(EventLoop& loop, const std::string& folder,
                                                             Handler handler) {
  const std::string path = folder + "/control.sock";
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return std::unexpected(errno_error(errno, path));
  unlink(path.c_str());  // left by a holder that was killed; the folder's lock says that it is gone
  const SocketAddress address(folder);
  if (bind(listener, address.get(), SocketAddress::size()) != 0 || ::listen(listener, 16) != 0) {
    const int error = errno;
    close(listener);
    return std::unexpected(errno_error(error, path));
  }
  return std::unique_ptr<ControlServer>(new ControlServer(loop, listener, path, std::move(handler)));
}

ControlServer::ControlServer(EventLoop& loop, int listener, std::string path, Handler handler)
    : loop_(loop), listener_(listener), path_(std::move(path)), handler_(std::move(handler)) {
  loop_.watch(listener_, [this] { accept_one(); });
}

ControlServer::~ControlServer() {
  *alive_ = false;
  while (!partial_.empty()) drop(partial_.begin()->first);
  loop_.remove(listener_);
  close(listener_);
  unlink(path_.c_str());
}

void ControlServer::accept_one() {
  const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return;
  partial_[connection];
  loop_.watch(connection, [this, connection] { read_from(connection); });
}

void ControlServer::drop(int connection) {
  loop_.remove(connection);
  partial_.erase(connection);
  close(connection);
}

void ControlServer::read_from(int connection) {
  std::array<char, 4096> buffer{};
  const ssize_t got = recv(connection, buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::string& line = partial_.at(connection);
  if (got > 0) line.append(buffer.data(), static_cast<std::size_t>(got));
  if (got <= 0 || line.size() > kLongestLine) return drop(connection);
  const std::size_t end = line.find('\n');
  if (end == std::string::npos) return;

  json::error_code error;
  const json::value request = json::parse(std::string_view(line).substr(0, end), error);
  if (error || !request.is_object()) return drop(connection);
  loop_.remove(connection);  // until it is answered nobody reads from it
  handler_(request.get_object(), [this, connection, alive = alive_](const json::object& answer) {
    if (!*alive) return;
    const std::string text = json::serialize(answer) + "\n";
    send_all(connection, text);
    partial_.erase(connection);
    close(connection);
  });
}

Result<json::object> ask_holder(const std::string& folder, const json::object& request) {
  const std::string path = folder + "/control.sock";
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return std::unexpected(errno_error(errno, path));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&connection, [](const int* it) { close(*it); });
  const SocketAddress address(folder);
  if (connect(connection, address.get(), SocketAddress::size()) != 0) {
    return fail(ErrorCode::not_found, concat(path, ": no process is listening"));
  }
  const std::string text = json::serialize(request) + "\n";
  if (send(connection, text.data(), text.size(), MSG_NOSIGNAL) != std::ssize(text)) {
    return std::unexpected(errno_error(errno, path));
  }
  std::string line;
  std::array<char, 4096> buffer{};
  pollfd waiting{.fd = connection, .events = POLLIN, .revents = 0};
  while (line.find('\n') == std::string::npos) {
    if (poll(&waiting, 1, kPatienceMs) == 0) {
      return fail(ErrorCode::io, concat(path, ": the process using the folder is not responding"));
    }
    const ssize_t got = recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) return fail(ErrorCode::not_found, concat(path, ": the process that used the folder has exited"));
    line.append(buffer.data(), static_cast<std::size_t>(got));
  }
  json::error_code error;
  json::value answer = json::parse(line, error);
  if (error || !answer.is_object()) return fail(ErrorCode::io, concat(path, ": malformed response"));
  return std::move(answer.get_object());
}

}  // namespace drover
