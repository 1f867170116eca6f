#include "keys/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"

namespace drover {
namespace {

/// Closes what it opened.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags, mode_t mode = 0)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

std::unexpected<Error> trouble_with(const std::string& path) {
  return std::unexpected(errno_error(errno, path));
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t wrote = ::write(file, content.data(), content.size());
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) content.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool write_new_file(const std::string& path, std::string_view content, Readers readers) {
  const mode_t mode = readers == Readers::owner ? 0600 : 0644;
  const OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  // The mode is set whatever the umask says.
  return file.get() >= 0 && ::fchmod(file.get(), mode) == 0 && write_all(file.get(), content) &&
         ::fsync(file.get()) == 0;
}

Result<std::string> read_all(const OpenFile& file, const std::string& path) {
  struct stat info{};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return trouble_with(path);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::bad_input, concat(path, " is not a regular file"));
  // All of it at once: a buffer that grew would leave copies behind.
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return trouble_with(path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

std::string octal(mode_t mode) {
  std::string digits = "0000";
  for (std::size_t at = 4; at-- > 0; mode >>= 3) digits[at] = static_cast<char>('0' + (mode & 7));
  return digits;
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view content, Readers readers) {
  // One name for what is not yet whole, so that crashes leave at most one such file, and the next time takes it away.
  const std::string beside = path + ".new";
  if (::unlink(beside.c_str()) != 0 && errno != ENOENT) return trouble_with(beside);
  if (!write_new_file(beside, content, readers)) {
    auto error = trouble_with(beside);
    ::unlink(beside.c_str());
    return error;
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    auto error = trouble_with(path);
    ::unlink(beside.c_str());
    return error;
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const OpenFile opened(folder, O_RDONLY | O_DIRECTORY);
  if (opened.get() < 0 || ::fsync(opened.get()) != 0) return trouble_with(folder);
  return {};
}

Result<std::string> read_file(const std::string& path) {
  const OpenFile file(path, O_RDONLY);
  return read_all(file, path);
}

Result<SecretText> read_private_file(const std::string& path) {
  const OpenFile file(path, O_RDONLY);
  struct stat info{};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return trouble_with(path);
  if ((info.st_mode & 077) != 0) {
    return fail(
        ErrorCode::bad_input,
        concat(path, " contains secrets, but other users can access it (mode ", octal(info.st_mode & 07777), ")"),
        concat("run 'chmod 600 ", path, "', and replace its keys if another user may have read them"));
  }
  auto content = read_all(file, path);
  if (!content) return pass(content);
  return SecretText(std::move(*content));
}

}  // namespace drover
