#include "run/image/file_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace drover {
namespace {

constexpr int kLookAgainMs = 20;

bool is_still_there(int file, const std::string& path) {
  struct stat held{};
  struct stat named{};
  return ::fstat(file, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

/// What was locked may have been removed by whoever had it before: then it is no lock on anything.
FileLock::Took FileLock::attempt(const std::string& path, LockKind kind, IfAbsent if_absent, FileLock& out) {
  const int make = if_absent == IfAbsent::make ? O_CREAT : 0;
  while (true) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | make, 0600));
    if (!file) return Took::absent;
    if (::flock(file.get(), (kind == LockKind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0)
      return errno == EWOULDBLOCK ? Took::busy : Took::absent;
    if (is_still_there(file.get(), path)) {
      out = FileLock(std::move(file));
      return Took::yes;
    }
    if (make == 0) return Took::absent;
  }
}

std::optional<FileLock> FileLock::try_take(const std::string& path, LockKind kind, IfAbsent if_absent) {
  FileLock out;
  if (attempt(path, kind, if_absent, out) != Took::yes) return std::nullopt;
  return out;
}

std::optional<FileLock> FileLock::take(const std::string& path, LockKind kind, IfAbsent if_absent,
                                       const std::stop_token& stop) {
  FileLock out;
  while (!stop.stop_requested()) {
    switch (attempt(path, kind, if_absent, out)) {
      case Took::yes: return out;
      case Took::absent: return std::nullopt;
      case Took::busy: ::poll(nullptr, 0, kLookAgainMs);
    }
  }
  return std::nullopt;
}

}  // namespace drover
