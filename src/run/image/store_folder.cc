#include "run/image/store_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "ports/entropy.h"
#include "run/remove_tree.h"

namespace drover {
namespace fs = std::filesystem;

ImageResult<void> StoreFolder::make() const {
  std::error_code error;
  const bool was_there = fs::exists(path_, error);
  fs::create_directories(path_, error);
  if (!was_there && !error) fs::permissions(path_, fs::perms::owner_all, error);
  for (const std::string& folder : {images(), indexes(), layers(), locks(), work()}) {
    if (!error) fs::create_directories(folder, error);
  }
  if (!error) fs::permissions(path_ + "/layers", fs::perms::owner_all, error);
  if (!error) fs::permissions(work(), fs::perms::owner_all, error);
  if (error) return std::unexpected(image_errno(error.value(), concat("image store ", path_)));
  return {};
}

std::optional<std::uint64_t> StoreFolder::free_bytes() const {
  struct statvfs disk{};
  if (::statvfs(path_.c_str(), &disk) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

/// Each has its lock beside it, not in it: it is removed while the lock is held.
void StoreFolder::clean() const {
  for (const std::string& name : names_in(work())) {
    constexpr std::string_view kLock = ".lock";
    const bool is_lock = name.ends_with(kLock);
    const std::string path = concat(work(), "/", is_lock ? name.substr(0, name.size() - kLock.size()) : name);
    // Between making the folder and taking its lock nobody may look.
    auto entrance = FileLock::take(gate(), LockKind::exclusive, FileLock::IfAbsent::make);
    auto lock = FileLock::try_take(path + ".lock", LockKind::exclusive, FileLock::IfAbsent::make);
    entrance.reset();
    if (!lock) continue;
    remove_tree(path);
    ::unlink((path + ".lock").c_str());
  }
}

ImageResult<WorkFolder> WorkFolder::make(const StoreFolder& store) {
  const std::string path = concat(store.work(), "/", random_number());
  const auto gate = FileLock::take(store.gate(), LockKind::exclusive, FileLock::IfAbsent::make);
  auto lock = FileLock::try_take(path + ".lock", LockKind::exclusive, FileLock::IfAbsent::make);
  if (!gate || !lock) return std::unexpected(image_errno(errno, path));
  if (::mkdir(path.c_str(), 0700) != 0) return std::unexpected(image_errno(errno, path));
  return WorkFolder(path, std::move(*lock));
}

WorkFolder::~WorkFolder() {
  if (path_.empty()) return;
  remove_tree(path_);
  ::unlink((path_ + ".lock").c_str());
}

ImageResult<std::string> read_text(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(image_errno(errno, path));
  std::string out;
  char piece[65536];
  while (true) {
    const ssize_t got = ::read(file.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(image_errno(errno, path));
    if (got == 0) return out;
    out.append(piece, static_cast<std::size_t>(got));
  }
}

ImageResult<void> write_text(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return std::unexpected(image_errno(errno, path));
  while (!text.empty()) {
    const ssize_t wrote = ::write(file.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return std::unexpected(image_errno(errno, path));
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file.get()) != 0) return std::unexpected(image_errno(errno, path));
  return {};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    out.push_back(it->path().filename());
  std::ranges::sort(out);
  return out;
}

}  // namespace drover
