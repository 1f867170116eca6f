#include "accel/root_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/text.h"

namespace drover {
namespace {

// What is read here is small: a cache of libraries is the largest.
constexpr std::size_t kMostRead = std::size_t{64} << 20;

Descriptor open_below(int folder, const std::string& path, int flags, std::uint64_t resolve, mode_t mode = 0) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = resolve | RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Descriptor(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how))));
}

struct PathParts {
  std::string folder;
  std::string name;
};

PathParts parts_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"/", std::string(path)};
  return {slash == 0 ? "/" : std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

Error refused_change(int error, std::string what) {
  if (error == EXDEV) return {ErrorCode::denied, what + ": another file system is mounted there", {}};
  if (error == ENOENT) return {ErrorCode::bad_input, what + ": a symlink leads to nothing there", {}};
  return errno_error(error, what);
}

/// Of an open file, on this machine.
std::string path_of(int descriptor) {
  char text[PATH_MAX];
  const ssize_t size = ::readlink(concat("/proc/self/fd/", descriptor).c_str(), text, sizeof(text));
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

Result<RootFolder> RootFolder::open(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return std::unexpected(errno_error(errno, concat("cannot open the root folder ", path)));
  std::string plain = path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return RootFolder(std::move(plain), std::move(folder));
}

std::string RootFolder::outside(std::string_view path) const {
  return is_machine_root() ? std::string(path) : concat(path_, path.starts_with('/') ? "" : "/", path);
}

RootFolder::RootFolder(std::string path, Descriptor folder)
    : path_(std::move(path)), folder_(std::move(folder)), real_path_(path_of(folder_.get())) {}

Descriptor RootFolder::open_at(std::string_view path, int flags) const {
  // Kernels before 5.6 have no openat2, which the machine's own root does not need.
  if (is_machine_root()) return Descriptor(::open(std::string(path).c_str(), flags | O_CLOEXEC));
  return open_below(folder_.get(), std::string(path), flags, 0);
}

bool RootFolder::has(std::string_view path) const {
  return static_cast<bool>(open_at(path, O_PATH));
}

std::optional<std::string> RootFolder::read(std::string_view path) const {
  const Descriptor file = open_at(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string text;
  char part[16384];
  ssize_t got = 0;
  while ((got = ::read(file.get(), part, sizeof(part))) > 0) {
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > kMostRead) return std::nullopt;
  }
  if (got < 0) return std::nullopt;
  return text;
}

std::vector<RootFolder::Entry> RootFolder::entries_in(std::string_view path) const {
  std::vector<Entry> out;
  const Descriptor folder = open_at(path, O_RDONLY | O_DIRECTORY);
  if (!folder) return out;
  DIR* opened = ::fdopendir(::dup(folder.get()));
  if (opened == nullptr) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, ::closedir);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    mode_t type = DTTOIF(entry->d_type);
    struct stat info{};
    // Not every file system says it there.
    if (entry->d_type == DT_UNKNOWN && ::fstatat(::dirfd(opened), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
      type = info.st_mode & S_IFMT;
    }
    out.push_back({std::string(name), type});
  }
  std::ranges::sort(out, {}, &Entry::name);
  return out;
}

std::vector<std::string> RootFolder::names_in(std::string_view path) const {
  std::vector<std::string> names;
  for (Entry& entry : entries_in(path)) names.push_back(std::move(entry.name));
  return names;
}

std::optional<struct stat> RootFolder::lstat(std::string_view path) const {
  struct stat info{};
  const Descriptor file = open_at(path, O_PATH | O_NOFOLLOW);
  if (!file || ::fstatat(file.get(), "", &info, AT_EMPTY_PATH) != 0) return std::nullopt;
  return info;
}

std::string RootFolder::real_path(std::string_view path) const {
  const Descriptor file = open_at(path, O_PATH);
  if (!file) return {};
  std::string real = path_of(file.get());
  if (real_path_ == "/") return real;
  return real.starts_with(real_path_ + "/") ? real.substr(real_path_.size()) : std::string();
}

Result<Descriptor> RootFolder::make_folder(std::string_view path) const {
  std::string so_far;
  Descriptor folder = open_below(folder_.get(), "/", O_PATH | O_DIRECTORY, RESOLVE_NO_XDEV);
  std::string_view rest = path;
  while (folder && !rest.empty()) {
    const std::string_view name = take_until(rest, '/');
    if (name.empty()) continue;
    Descriptor next = open_below(folder_.get(), concat(so_far, "/", name), O_PATH | O_DIRECTORY, RESOLVE_NO_XDEV);
    if (!next && errno == ENOENT) {
      const std::string text(name);
      if (::mkdirat(folder.get(), text.c_str(), 0755) == 0 || errno == EEXIST) {
        next = open_below(folder_.get(), concat(so_far, "/", name), O_PATH | O_DIRECTORY, RESOLVE_NO_XDEV);
      }
    }
    so_far += concat("/", name);
    folder = std::move(next);
  }
  if (!folder) return std::unexpected(refused_change(errno, concat("cannot open the folder ", path, " in ", path_)));
  return folder;
}

Result<void> RootFolder::write(std::string_view path, std::string_view text, mode_t mode) const {
  const PathParts parts = parts_of(path);
  auto folder = make_folder(parts.folder);
  if (!folder) return pass(folder);
  const std::string unfinished = concat(".", parts.name, ".drover-", ::getpid());
  const auto failed = [&](int error) {
    ::unlinkat(folder->get(), unfinished.c_str(), 0);
    return std::unexpected(errno_error(error, concat("cannot write ", path, " in ", path_)));
  };
  ::unlinkat(folder->get(), unfinished.c_str(), 0);
  const Descriptor file(
      ::openat(folder->get(), unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return failed(errno);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t done = ::write(file.get(), rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed(errno);
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  if (::fchmod(file.get(), mode) != 0) return failed(errno);
  if (::renameat(folder->get(), unfinished.c_str(), folder->get(), parts.name.c_str()) != 0) return failed(errno);
  return {};
}

Result<void> RootFolder::link(std::string_view path, const std::string& target) const {
  const PathParts parts = parts_of(path);
  auto folder = make_folder(parts.folder);
  if (!folder) return pass(folder);
  const auto failed = [&] {
    return std::unexpected(errno_error(errno, concat("cannot make the symlink ", path, " in ", path_)));
  };
  if (::symlinkat(target.c_str(), folder->get(), parts.name.c_str()) == 0) return {};
  if (errno != EEXIST) return failed();
  char there[PATH_MAX];
  const ssize_t size = ::readlinkat(folder->get(), parts.name.c_str(), there, sizeof(there));
  if (size < 0) return {};  // a file of the image: it stays
  if (std::string_view(there, static_cast<std::size_t>(size)) == target) return {};
  const std::string unfinished = concat(".", parts.name, ".drover-", ::getpid());
  ::unlinkat(folder->get(), unfinished.c_str(), 0);
  if (::symlinkat(target.c_str(), folder->get(), unfinished.c_str()) != 0) return failed();
  if (::renameat(folder->get(), unfinished.c_str(), folder->get(), parts.name.c_str()) != 0) return failed();
  return {};
}

}  // namespace drover
