#include "run/slot/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "run/terminal_wish.h"

namespace drover::slot {
namespace {

/// 0, or an errno.
int send_descriptor(int socket, int descriptor) {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

}  // namespace

int take_terminal() {
  const int far_end = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int locked = 0;
  if (far_end < 0 || ::ioctl(far_end, TIOCSPTLCK, &locked) != 0) return errno;
  // Not by its name: the folder of terminals may lie elsewhere.
  const int terminal = ::ioctl(far_end, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return errno;
  TerminalWish wish;
  if (::recv(STDIN_FILENO, &wish, sizeof(wish), MSG_DONTWAIT) == sizeof(wish)) {
    ::ioctl(terminal, TIOCSWINSZ, &wish.size);
    ::tcsetattr(terminal, TCSANOW, &wish.modes);
  }
  if (const int error = send_descriptor(STDIN_FILENO, far_end); error != 0) return error;
  // The first process of a container has begun its session already.
  if (::getsid(0) != ::getpid() && ::setsid() < 0) return errno;
  if (::ioctl(terminal, TIOCSCTTY, 0) != 0) return errno;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(terminal, stream) < 0) return errno;
  }
  ::close(terminal);
  ::close(far_end);
  return 0;
}

std::string explain_no_terminal(int error) {
  return std::string("could not create a terminal: ") + strerrordesc_np(error);
}

}  // namespace drover::slot
