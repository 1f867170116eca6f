#include "run/image/layer_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ranges>

#include "base/text.h"
#include "base/units.h"
#include "run/remove_tree.h"
#include "run/user_namespace.h"

namespace drover {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr std::size_t kMostNotes = 100;
// Of an entry in a map, beside its key and value: its node, and what two allocations cost.
constexpr std::uint64_t kMapEntryBytes = 64;

int open_in_root(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long number = -1;
  do {
    number = ::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how);
  } while (number < 0 && (errno == EAGAIN || errno == EINTR));
  return static_cast<int>(number);
}

/// Names that are too long and links that lead in circles are the image's doing; the rest is the machine's.
std::unexpected<ImageError> trouble(int error, std::string_view path) {
  const std::string what = concat("a file in a layer (", shown(path), ")");
  if (error == ENAMETOOLONG || error == ELOOP || error == ENOTDIR || error == EINVAL || error == EMLINK ||
      error == EFBIG) {
    return image_fail(ImageFault::corrupt, concat(what, " cannot be created: ", std::strerror(error)),
                      "build the image again");
  }
  if (error == ENOSYS) {
    return std::unexpected(ImageError{ImageFault::unsupported, Blame::machine,
                                      "this kernel has no openat2, which is required to unpack images safely",
                                      "use kernel 5.10 or newer"});
  }
  return std::unexpected(image_errno(error, what));
}

const char* opaque_name(OverlayMarks marks) {
  return marks == OverlayMarks::trusted ? "trusted.overlay.opaque" : "user.overlay.opaque";
}

bool is_whiteout(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

}  // namespace

OverlayMarks possible_marks(int folder) {
  constexpr const char* kProbe = "trusted.overlay.drover";
  if (::fsetxattr(folder, kProbe, "y", 1, 0) != 0) return OverlayMarks::user;
  ::fremovexattr(folder, kProbe);
  return OverlayMarks::trusted;
}

LayerTree::LayerTree(Descriptor root, Descriptor trash, OverlayMarks marks, const ImageLimits& limits,
                     std::uint64_t entries_left)
    : root_(std::move(root)),
      trash_(std::move(trash)),
      marks_(marks),
      is_root_user_(::geteuid() == 0 && may_mount()),  // else its containers are made in a user namespace
      limits_(limits),
      entries_left_(entries_left) {}

ImageResult<void> LayerTree::count(const LayerPath& path) {
  if (++entries_ <= entries_left_) return {};
  return image_fail(ImageFault::too_large,
                    concat("the image has more than ", limits_.entries, " files, folders and links; the last one was ",
                           shown(path.text())),
                    "build an image with fewer files");
}

void LayerTree::note(const std::string& what) {
  const auto known = notes_.find(what);
  if (known != notes_.end()) {
    ++known->second;
  } else {
    ++notes_[notes_.size() < kMostNotes ? what : "others"];
  }
}

ImageResult<int> LayerTree::open_folder(const std::string& path) {
  if (open_ && open_path_ == path) return open_.get();
  int number = open_in_root(root_.get(), path, O_PATH | O_DIRECTORY);
  if (number < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
    if (auto made = make_folders(path); !made) return pass(made);
    number = open_in_root(root_.get(), path, O_PATH | O_DIRECTORY);
  }
  if (number < 0) return trouble(errno, path);
  open_ = Descriptor(number);
  open_path_ = path;
  return number;
}

ImageResult<int> LayerTree::parent_of(const LayerPath& path) {
  return open_folder(path.parent);
}

/// Component by component. A link is followed if it leads to a folder; what is no folder makes room for one.
ImageResult<void> LayerTree::make_folders(const std::string& path) {
  Descriptor above(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  if (!above) return trouble(errno, path);
  for (std::size_t end = 0; end < path.size();) {
    const std::size_t begin = end == 0 ? 0 : end + 1;
    end = std::min(path.find('/', begin), path.size());
    const LayerPath step{path.substr(0, begin == 0 ? 0 : begin - 1), path.substr(begin, end - begin)};
    Descriptor next(::openat(above.get(), step.name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next && errno != ENOENT)
      next = Descriptor(open_in_root(root_.get(), path.substr(0, end), O_PATH | O_DIRECTORY));
    if (!next) {
      if (auto counted = count(step); !counted) return pass(counted);
      const Before before = what_is_at(above.get(), step.name);
      if (before != Before::nothing) {
        if (auto cleared = clear(above.get(), step); !cleared) return pass(cleared);
      }
      if (::mkdirat(above.get(), step.name.c_str(), 0755) != 0) return trouble(errno, step.text());
      if (::fchmodat(above.get(), step.name.c_str(), 0755, 0) != 0) return trouble(errno, step.text());
      if (before == Before::whiteout) {
        if (auto marked = mark_opaque(above.get(), step.name); !marked) return pass(marked);
      }
      next = Descriptor(::openat(above.get(), step.name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!next) return trouble(errno, step.text());
    above = std::move(next);
  }
  return {};
}

LayerTree::Before LayerTree::what_is_at(int parent, const std::string& name) const {
  struct stat status{};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return Before::nothing;
  if (S_ISDIR(status.st_mode)) return Before::folder;
  return is_whiteout(status) ? Before::whiteout : Before::other;
}

ImageResult<void> LayerTree::clear(int parent, const LayerPath& path) {
  const std::string name = std::to_string(trashed_++);
  if (::renameat(parent, path.name.c_str(), trash_.get(), name.c_str()) != 0) return trouble(errno, path.text());
  if (const int error = remove_tree(trash_.get(), name); error != 0) return trouble(error, path.text());
  return {};
}

template <class Make>
ImageResult<LayerTree::Before> LayerTree::put(const LayerPath& path, Make make) {
  if (path.is_root())
    return image_fail(ImageFault::corrupt, "the root of a layer is not a folder", "do not use this image");
  if (auto counted = count(path); !counted) return pass(counted);
  auto parent = parent_of(path);
  if (!parent) return pass(parent);
  if (make(*parent, path.name.c_str()) >= 0) return Before::nothing;
  if (errno != EEXIST) return trouble(errno, path.text());
  const Before before = what_is_at(*parent, path.name);
  if (auto cleared = clear(*parent, path); !cleared) return pass(cleared);
  if (make(*parent, path.name.c_str()) < 0) return trouble(errno, path.text());
  if (before == Before::folder || before == Before::other) {
    open_.reset();  // if it was a link, names may lead elsewhere now
  }
  return before;
}

ImageResult<void> LayerTree::mark_opaque(int parent, const std::string& name) {
  const Descriptor folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return trouble(errno, name);
  if (::fsetxattr(folder.get(), opaque_name(marks_), "y", 1, 0) == 0) return {};
  if (errno == ENOTSUP) {
    return std::unexpected(ImageError{ImageFault::unsupported, Blame::machine,
                                      "the file system of the image store does not support extended attributes",
                                      "put the store on ext4, xfs, btrfs or tmpfs"});
  }
  return trouble(errno, name);
}

ImageResult<void> LayerTree::folder(const LayerPath& path, const EntryAttributes& attributes) {
  Descriptor made;
  if (path.is_root()) {
    made = Descriptor(::openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  } else {
    auto parent = parent_of(path);
    if (!parent) return pass(parent);
    const Before before = what_is_at(*parent, path.name);
    if (before != Before::folder) {
      const auto put_there = put(path, [](int in, const char* name) { return ::mkdirat(in, name, 0700); });
      if (!put_there) return std::unexpected(put_there.error());
      parent = parent_of(path);
      if (!parent) return pass(parent);
      if (before == Before::whiteout) {
        if (auto marked = mark_opaque(*parent, path.name); !marked) return pass(marked);
      }
    }
    made = Descriptor(::openat(*parent, path.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!made) return trouble(errno, path.text());
  if (auto owned = own(made.get(), "", attributes); !owned) return pass(owned);
  if (auto set = set_xattrs(made.get(), attributes); !set) return pass(set);
  std::string key = path.text();
  late_bytes_ += key.size() + sizeof(std::string) + sizeof(Late) + kMapEntryBytes;
  if (late_bytes_ > limits_.layer_memory) {
    return image_fail(ImageFault::too_large,
                      concat("its folders and their names need more than ", format_size(limits_.layer_memory),
                             " of memory during unpacking; the last one was ", shown(key)),
                      "build the image with fewer folders or shorter names");
  }
  late_.insert_or_assign(std::move(key), Late{mode_of(attributes), attributes.modified});
  return {};
}

ImageResult<Descriptor> LayerTree::file(const LayerPath& path) {
  Descriptor out;
  auto made = put(path, [&](int parent, const char* name) {
    out = Descriptor(::openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return out.get();
  });
  if (!made) return pass(made);
  return out;
}

ImageResult<void> LayerTree::own(int at, const std::string& name, const EntryAttributes& attributes) {
  if (!is_root_user_) {
    if (attributes.user != 0) note("owner");
    return {};
  }
  const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
  if (::fchownat(at, name.c_str(), attributes.user, attributes.group, flags) == 0) return {};
  if (errno != EINVAL && errno != EPERM) return trouble(errno, "its owner");
  note("owner");  // we are root of a user namespace that has no such user
  return {};
}

// Where its owner cannot be kept, all of the image's users may do with it what its owner could: else that owner would
// be shut out of what is his.
mode_t LayerTree::mode_of(const EntryAttributes& attributes) const {
  const mode_t mode = attributes.mode & kModeBits;
  if (is_root_user_ || (attributes.user == 0 && attributes.group == 0)) return mode;
  // To run as whoever it belongs to would be to run as root now.
  const mode_t owners = (mode & S_IRWXU) >> 6;
  return (mode & ~mode_t{S_ISUID | S_ISGID}) | owners | owners << 3;
}

/// Owner, then mode, then capabilities: each change takes the next one away.
ImageResult<void> LayerTree::finish(const Descriptor& file, const EntryAttributes& attributes) {
  if (auto owned = own(file.get(), "", attributes); !owned) return pass(owned);
  if (::fchmod(file.get(), mode_of(attributes)) != 0) return trouble(errno, "its mode");
  if (auto set = set_xattrs(file.get(), attributes); !set) return pass(set);
  const timespec times[2] = {attributes.modified, attributes.modified};
  if (::futimens(file.get(), times) != 0) return trouble(errno, "its time");
  return {};
}

ImageResult<void> LayerTree::set_xattrs(int file, const EntryAttributes& attributes) {
  for (const auto& [name, value] : attributes.xattrs) {
    // What overlay itself reads is ours to write, and labels are the machine's.
    const bool kept =
        name == "security.capability" || (name.starts_with("user.") && !name.starts_with("user.overlay."));
    if (!kept) {
      note(concat("extended attribute ", shown(name)));
      continue;
    }
    if (::fsetxattr(file, name.c_str(), value.data(), value.size(), 0) == 0) continue;
    if (errno == ENOSPC || errno == EDQUOT || errno == EIO) return trouble(errno, name);
    note(concat("extended attribute ", shown(name)));
  }
  return {};
}

ImageResult<void> LayerTree::symlink(const LayerPath& path, const std::string& target,
                                     const EntryAttributes& attributes) {
  auto made = put(path, [&](int parent, const char* name) { return ::symlinkat(target.c_str(), parent, name); });
  if (!made) return pass(made);
  auto parent = parent_of(path);
  if (!parent) return pass(parent);
  if (auto owned = own(*parent, path.name, attributes); !owned) return pass(owned);
  const timespec times[2] = {attributes.modified, attributes.modified};
  if (::utimensat(*parent, path.name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return trouble(errno, path.text());
  return {};
}

ImageResult<void> LayerTree::hard_link(const LayerPath& path, const LayerPath& target) {
  const Descriptor from(open_in_root(root_.get(), target.parent, O_PATH | O_DIRECTORY));
  struct stat there{};
  if (!from || target.is_root() || ::fstatat(from.get(), target.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
      S_ISDIR(there.st_mode)) {
    return image_fail(ImageFault::corrupt,
                      concat("hard link ", shown(path.text()), " points to ", shown(target.text()),
                             ", which is not a file in its layer"),
                      "build the image again");
  }
  if (auto parent = parent_of(path); parent) {
    struct stat here{};
    if (::fstatat(*parent, path.name.c_str(), &here, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == there.st_ino &&
        here.st_dev == there.st_dev) {
      return {};  // the same file already: to replace it would be to lose it
    }
  }
  auto made = put(
      path, [&](int parent, const char* name) { return ::linkat(from.get(), target.name.c_str(), parent, name, 0); });
  if (!made) return pass(made);
  return {};
}

ImageResult<void> LayerTree::node(const LayerPath& path, mode_t type, dev_t device, const EntryAttributes& attributes) {
  const bool is_device = type == S_IFCHR || type == S_IFBLK;
  if (is_device && !is_root_user_) {
    note("device");
    return {};
  }
  bool refused = false;
  auto made = put(path, [&](int parent, const char* name) {
    const int result = ::mknodat(parent, name, type | 0600, device);
    refused = result != 0 && errno == EPERM;
    return result;
  });
  if (is_device && refused) {
    note("device");  // we are root of a user namespace only
    return {};
  }
  if (!made) return pass(made);
  auto parent = parent_of(path);
  if (!parent) return pass(parent);
  const char* name = path.name.c_str();
  if (auto owned = own(*parent, path.name, attributes); !owned) return pass(owned);
  // What was just made is no link, and nobody else writes here.
  if (::fchmodat(*parent, name, mode_of(attributes), 0) != 0) return trouble(errno, path.text());
  const timespec times[2] = {attributes.modified, attributes.modified};
  if (::utimensat(*parent, name, times, AT_SYMLINK_NOFOLLOW) != 0) return trouble(errno, path.text());
  return {};
}

ImageResult<void> LayerTree::whiteout(const LayerPath& path) {
  if (path.is_root() || path.name == "." || path.name == "..") {
    return image_fail(ImageFault::corrupt, "a layer removes files outside the image", "do not use this image");
  }
  auto parent = parent_of(path);
  if (!parent) return pass(parent);
  // It is about lower layers: what this one has under that name stays.
  switch (what_is_at(*parent, path.name)) {
    case Before::whiteout:
    case Before::other: return {};
    case Before::folder: return mark_opaque(*parent, path.name);
    case Before::nothing: break;
  }
  auto made = put(path, [](int in, const char* name) { return ::mknodat(in, name, S_IFCHR, makedev(0, 0)); });
  if (!made) return pass(made);
  return {};
}

ImageResult<void> LayerTree::opaque(const std::string& folder) {
  auto opened = open_folder(folder);
  if (!opened) return pass(opened);
  if (folder.empty()) hides_everything_ = true;
  return mark_opaque(*opened, ".");
}

ImageResult<void> LayerTree::seal() {
  // Children come after their parents in the map, and a parent that is closed first could not be passed.
  for (const auto& [path, late] : late_ | std::views::reverse) {
    const std::size_t slash = path.rfind('/');
    const Descriptor parent(
        open_in_root(root_.get(), slash == std::string::npos ? "" : path.substr(0, slash), O_PATH | O_DIRECTORY));
    const std::string name = path.empty() ? "." : path.substr(slash == std::string::npos ? 0 : slash + 1);
    const Descriptor folder(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) continue;  // replaced by something else since
    const timespec times[2] = {late.modified, late.modified};
    if (::fchmod(folder.get(), late.mode) != 0 || ::futimens(folder.get(), times) != 0) return trouble(errno, path);
  }
  return {};
}

}  // namespace drover
