#include "run/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "ports/descriptor.h"
#include "ports/entropy.h"

namespace drover {
namespace {

struct CloseFolder {
  void operator()(DIR* it) const { ::closedir(it); }
};

/// A folder, and not what a link leads to that somebody puts in its place.
void make_writable(int parent, const char* name) {
  const Descriptor folder(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) ::chmod(concat("/proc/self/fd/", folder.get()).c_str(), 0700);
}

/// Empties one folder: files go, folders are moved into `parent` under names that begin with `stem`, and appended to
/// `moved`.
int empty_folder(int parent, const std::string& name, const std::string& stem, std::vector<std::string>& moved,
                 std::uint64_t& count) {
  const int number = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (number < 0) return errno == ENOENT ? 0 : errno;  // somebody else cleans up as well
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(number));
  if (folder == nullptr) {
    const int error = errno;
    ::close(number);
    return error;
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) return errno;
    const std::string_view inside = entry->d_name;
    if (inside == "." || inside == "..") continue;
    if (::unlinkat(number, entry->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR) return errno;
    if (::unlinkat(number, entry->d_name, AT_REMOVEDIR) == 0) continue;
    // A folder that is moved is written itself, for its way up: without root it must be writable for that.
    make_writable(number, entry->d_name);
    std::string flat = concat(stem, count++);
    if (::renameat(number, entry->d_name, parent, flat.c_str()) != 0) return errno;
    moved.push_back(std::move(flat));
  }
}

}  // namespace

int remove_tree(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR) return errno;
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return 0;
  const std::string stem = concat(kRemovedStem, random_number(), "-");
  std::vector<std::string> left{name};
  std::uint64_t count = 0;
  while (!left.empty()) {
    const std::string one = std::move(left.back());
    left.pop_back();
    make_writable(parent, one.c_str());
    if (const int error = empty_folder(parent, one, stem, left, count); error != 0) return error;
    if (::unlinkat(parent, one.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return errno;
  }
  return 0;
}

int remove_tree(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const Descriptor parent(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return errno == ENOENT ? 0 : errno;
  return remove_tree(parent.get(), path.substr(slash == std::string::npos ? 0 : slash + 1));
}

}  // namespace drover
