#include "run/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "run/descriptor.h"

namespace drover {
namespace {

bool is_self(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(entries)) {
    if (!is_self(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  return names;
}

/// Removes what is no folder, and empty folders. True: nothing of that name is left.
bool remove_entry(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

class Flattening {
 public:
  explicit Flattening(int top) : top_(top) {}

  void run() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const std::string& name : names_in(top_)) {
        if (!remove_entry(top_, name.c_str())) goes_on |= empty(name.c_str());
      }
    }
  }

 private:
  /// Its folders move up beside it. True: something went.
  bool empty(const char* name) {
    Descriptor folder(::openat(top_, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && errno == EACCES && ::fchmodat(top_, name, 0700, 0) == 0) {
      folder = Descriptor(::openat(top_, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!folder) return false;
    bool moved = false;
    for (const std::string& each : names_in(folder.get())) {
      if (remove_entry(folder.get(), each.c_str())) {
        moved = true;
        continue;
      }
      // One that may not be written refuses to be moved.
      ::fchmodat(folder.get(), each.c_str(), 0700, AT_SYMLINK_NOFOLLOW);
      std::string place;
      do place = ".moved" + std::to_string(++moved_);
      while (::faccessat(top_, place.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
      moved |= ::renameat(folder.get(), each.c_str(), top_, place.c_str()) == 0;
    }
    return ::unlinkat(top_, name, AT_REMOVEDIR) == 0 || moved;
  }

  int top_;
  std::uint64_t moved_ = 0;
};

}  // namespace

void remove_tree(const std::string& folder) {
  const Descriptor top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (top) Flattening(top.get()).run();
  ::rmdir(folder.c_str());
}

}  // namespace drover
