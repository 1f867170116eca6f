#include "server/service_notice.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace drover {

void notify_service_manager(std::string_view state) {
  const char* given = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = given == nullptr ? "" : given;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  std::ranges::copy(path, address.sun_path);
  // An abstract name: its first byte is not a letter but a zero, and its length is what counts.
  if (path.front() == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  // A manager that does not read must not keep a server from stopping.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
  ::close(socket);
}

}  // namespace drover
