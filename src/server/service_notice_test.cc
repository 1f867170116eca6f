#include "server/service_notice.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace drover {
namespace {

/// A service manager's end.
class Manager {
 public:
  explicit Manager(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    bound_ = ::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) == 0;
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
  }

  std::string heard() {
    char text[64];
    const ssize_t size = ::recv(socket_, text, sizeof text, 0);
    return bound_ && size >= 0 ? std::string(text, static_cast<std::size_t>(size)) : "nothing";
  }

 private:
  int socket_;
  bool bound_ = false;
};

TEST(ServiceNotice, ReachesTheSocketThatWasNamed) {
  const std::string path = "/tmp/drover-notice-" + std::to_string(::getpid());
  Manager manager(path);
  notify_service_manager("READY=1");
  EXPECT_EQ(manager.heard(), "READY=1");
  EXPECT_EQ(manager.heard(), "nothing");
  ::unlink(path.c_str());
}

TEST(ServiceNotice, ReachesAnAbstractSocket) {
  Manager manager("@drover-notice-" + std::to_string(::getpid()));
  notify_service_manager("STOPPING=1");
  EXPECT_EQ(manager.heard(), "STOPPING=1");
}

TEST(ServiceNotice, DoesNotWaitForAManagerThatDoesNotRead) {
  const std::string path = "/tmp/drover-notice-" + std::to_string(::getpid());
  const Manager manager(path);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  while (::sendto(socket, "x", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 1) {
  }
  notify_service_manager("STOPPING=1");
  ::close(socket);
  ::unlink(path.c_str());
}

TEST(ServiceNotice, IsKeptToItselfWhereNobodyAsked) {
  ::unsetenv("NOTIFY_SOCKET");
  notify_service_manager("READY=1");
  ::setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  notify_service_manager("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace drover
