#include "page/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace drover::page {
namespace {

constexpr const char* kNext = "choose another --out, or free some disk space";

std::unexpected<Error> cannot_write(int error_number, const std::string& path) {
  return std::unexpected(errno_error(error_number, concat("could not write '", path, "'"), kNext));
}

/// Writes all of it and closes the file; 0 or an errno.
int write_and_close(int file, std::string_view content) {
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t wrote = ::write(file, content.data(), content.size());
    if (wrote >= 0) {
      content.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

/// The permissions a new file gets from open(2) with mode 0666.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Result<void> write_whole_file(const std::string& path, std::string_view content) {
  if (path.empty()) return fail(ErrorCode::bad_input, "no file to write the page to", "add --out FILE");
  struct stat there{};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) return cannot_write(EISDIR, path);
  if (exists && !S_ISREG(there.st_mode)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return cannot_write(errno, path);
    if (const int error = write_and_close(file, content)) return cannot_write(error, path);
    return {};
  }

  std::error_code broken;
  const std::string target = exists ? std::filesystem::canonical(path, broken).string() : path;
  if (broken) return cannot_write(broken.value(), path);
  std::string beside = target + ".XXXXXX";
  const int file = ::mkostemp(beside.data(), O_CLOEXEC);
  if (file < 0) return cannot_write(errno, path);
  ::fchmod(file, exists ? there.st_mode & 0777U : usual_mode());
  int error = write_and_close(file, content);
  if (error == 0 && ::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return cannot_write(error, path);
}

}  // namespace drover::page
