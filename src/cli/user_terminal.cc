#include "cli/user_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/write_whole.h"

namespace drover {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr int kDrainMs = 200;

enum Wait : std::size_t { keys, socket, far };

winsize size_of_user() {
  winsize size{};
  ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
  return size;
}

}  // namespace

Result<std::unique_ptr<UserTerminal>> UserTerminal::open() {
  std::unique_ptr<UserTerminal> terminal(new UserTerminal);
  if (::tcgetattr(STDIN_FILENO, &terminal->before_.modes) != 0) {
    return std::unexpected(errno_error(errno, "standard input is not a terminal"));
  }
  terminal->before_.size = size_of_user();
  return terminal;
}

UserTerminal::~UserTerminal() {
  restore();
}

void UserTerminal::restore() {
  if (std::exchange(is_raw_, false)) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_.modes);
}

Result<Descriptor> UserTerminal::socket_for_item() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::unexpected(errno_error(errno, "could not create a socket"));
  }
  near_end_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  if (::send(near_end_.get(), &before_, sizeof(before_), MSG_NOSIGNAL) != sizeof(before_)) {
    return std::unexpected(errno_error(errno, "could not request a terminal"));
  }
  return theirs;
}

void UserTerminal::join(Descriptor far_end, Resize resize) {
  far_end_ = std::move(far_end);
  resize_ = std::move(resize);
  ::fcntl(far_end_.get(), F_SETFL, ::fcntl(far_end_.get(), F_GETFL) | O_NONBLOCK);
  refresh();
}

void UserTerminal::refresh() {
  if (!far_end_ || is_over_) return;
  termios raw = before_.modes;
  ::cfmakeraw(&raw);
  is_raw_ = true;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  tell_size();
}

void UserTerminal::tell_size() {
  const winsize size = size_of_user();
  if (resize_) {
    resize_(size);
  } else {
    ::ioctl(far_end_.get(), TIOCSWINSZ, &size);
  }
}

UserTerminal::Waits UserTerminal::waits() const {
  Waits waits{};
  // Keys wait while the far end takes none.
  waits[keys] = {far_end_ && !is_over_ && !is_left_ && unsent_.empty() ? STDIN_FILENO : -1, POLLIN, 0};
  waits[socket] = {far_end_ ? -1 : near_end_.get(), POLLIN, 0};
  waits[far] = {is_over_ ? -1 : far_end_.get(), static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)), 0};
  return waits;
}

void UserTerminal::on_ready(const Waits& waits) {
  if (waits[socket].revents != 0) receive_far_end();
  if ((waits[far].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !print_some()) {
    // The program may go on without it; Ctrl-C is a signal again.
    is_over_ = true;
    restore();
  }
  if ((waits[far].revents & POLLOUT) != 0) send_keys();
  if (waits[keys].revents != 0) take_keys();
}

void UserTerminal::receive_far_end() {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  if (::recvmsg(near_end_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0) {
    if (errno != EAGAIN && errno != EINTR) near_end_.reset();  // the slot says why there is none
    return;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return;
  int number = -1;
  std::memcpy(&number, CMSG_DATA(header), sizeof(number));
  join(Descriptor(number));
}

void UserTerminal::take_keys() {
  char bytes[kPiece];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    is_left_ = true;
    return;
  }
  unsent_.assign(bytes, static_cast<std::size_t>(got));
  send_keys();
}

void UserTerminal::send_keys() {
  const ssize_t sent = ::write(far_end_.get(), unsent_.data(), unsent_.size());
  if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
}

/// False: there will be no more.
bool UserTerminal::print_some() {
  char bytes[kPiece];
  const ssize_t got = ::read(far_end_.get(), bytes, sizeof(bytes));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) return false;
  return write_whole(STDOUT_FILENO, {bytes, static_cast<std::size_t>(got)});
}

void UserTerminal::drain() {
  if (!far_end_) receive_far_end();
  pollfd wait{far_end_.get(), POLLIN, 0};
  while (far_end_ && !is_over_ && ::poll(&wait, 1, kDrainMs) > 0) is_over_ = !print_some();
}

}  // namespace drover
