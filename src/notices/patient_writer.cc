#include "notices/patient_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string>

#include "base/text.h"

namespace drover {
namespace {

constexpr int kSoonMs = 10;

}  // namespace

// A pipe or a terminal is opened once more: other processes would notice if the description that they share did not
// block any more. That may be forbidden, when another user owns it. Then no more is written at once than a pipe that is
// ready surely takes.
PatientWriter::PatientWriter(int fd) : fd_(fd), wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  struct stat file{};
  if (::fstat(fd, &file) != 0) return;
  if (S_ISSOCK(file.st_mode)) kind_ = Kind::socket;
  if (!S_ISFIFO(file.st_mode) && ::isatty(fd) != 1) return;
  const std::string path = concat("/proc/self/fd/", fd);
  const int own = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own < 0) return;
  fd_ = own;
  is_own_ = true;
}

PatientWriter::~PatientWriter() {
  if (is_own_) ::close(fd_);
  if (wakes_ >= 0) ::close(wakes_);
}

void PatientWriter::give_up_at(Clock::time_point when) {
  give_up_ = std::max<Clock::rep>(when.time_since_epoch().count(), 1);
  const std::uint64_t one = 1;
  (void)!::write(wakes_, &one, sizeof one);
}

std::optional<int> PatientWriter::patience_ms() const {
  const Clock::rep when = give_up_;
  if (when == 0) return -1;
  const auto left = Clock::time_point(Clock::duration(when)) - Clock::now();
  if (left <= Clock::duration::zero()) return std::nullopt;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(ms, INT_MAX));
}

bool PatientWriter::wait_for_reader(bool was_refused) const {
  while (true) {
    const auto patience = patience_ms();
    if (!patience) return false;
    pollfd both[] = {{.fd = fd_, .events = POLLOUT, .revents = 0}, {.fd = wakes_, .events = POLLIN, .revents = 0}};
    const bool was_told = *patience >= 0;  // then the other one is readable for ever
    if (was_refused) {
      ::poll(&both[1], was_told ? 0 : 1, was_told ? std::min(*patience, kSoonMs) : kSoonMs);
      was_refused = false;
      continue;
    }
    ::poll(both, was_told ? 1 : 2, *patience);
    if (both[0].revents != 0) return true;
  }
}

long PatientWriter::write_some(std::string_view bytes) const {
  if (kind_ == Kind::socket) return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return ::write(fd_, bytes.data(), is_own_ ? bytes.size() : std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

bool PatientWriter::write(std::string_view bytes) {
  bool was_refused = false;
  while (!bytes.empty()) {
    if (!wait_for_reader(was_refused)) return false;
    const long wrote = write_some(bytes);
    was_refused = wrote < 0 && errno == EAGAIN;
    if (wrote < 0 && !was_refused && errno != EINTR) return false;
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace drover
