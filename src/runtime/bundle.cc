#include "runtime/bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/text.h"

namespace drover {

Result<std::string> read_whole_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::unexpected(errno_error(errno, concat("cannot read ", path)));
  std::string text;
  char part[65536];
  ssize_t got = 0;
  while ((got = ::read(file, part, sizeof(part))) > 0) text.append(part, static_cast<std::size_t>(got));
  const int error = errno;
  ::close(file);
  if (got < 0) return std::unexpected(errno_error(error, concat("cannot read ", path)));
  return text;
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  char real[PATH_MAX];
  const auto failed = [&] { return std::unexpected(errno_error(errno, concat("cannot write ", path))); };
  if (::realpath(path.c_str(), real) == nullptr) return failed();
  struct stat before{};
  if (::stat(real, &before) != 0) return failed();
  const std::string unfinished = concat(real, ".drover-", ::getpid());
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed();
  const auto give_up = [&] {
    const int error = errno;
    ::close(file);
    ::unlink(unfinished.c_str());
    errno = error;
    return failed();
  };
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return give_up();
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  struct stat now{};
  if (::fstat(file, &now) != 0) return give_up();
  const bool has_owner = now.st_uid == before.st_uid && now.st_gid == before.st_gid;
  if (!has_owner && ::fchown(file, before.st_uid, before.st_gid) != 0) return give_up();
  if (::fchmod(file, before.st_mode & 07777) != 0) return give_up();
  if (::rename(unfinished.c_str(), real) != 0) return give_up();
  ::close(file);
  return {};
}

}  // namespace drover
