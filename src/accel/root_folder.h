// A folder that is taken for "/": the root of a driver that is installed elsewhere, or of a container. Paths are
// resolved below it, whatever the symlinks in it say.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/descriptor.h"

namespace drover {

class RootFolder {
 public:
  static Result<RootFolder> open(const std::string& path);

  const std::string& path() const { return path_; }
  bool is_machine_root() const { return path_ == "/"; }
  /// Where something in it is on this machine.
  std::string outside(std::string_view path) const;

  /// Empty descriptor: errno says why.
  Descriptor open_at(std::string_view path, int flags) const;
  bool has(std::string_view path) const;
  /// Nothing: it is not there, is not a regular file or cannot be read.
  std::optional<std::string> read(std::string_view path) const;
  /// What is in a folder, sorted by name; nothing where there is no folder.
  struct Entry {
    std::string name;
    mode_t type = 0;  // S_IFREG, S_IFLNK, ...

    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries_in(std::string_view path) const;
  std::vector<std::string> names_in(std::string_view path) const;
  std::optional<struct stat> lstat(std::string_view path) const;
  /// Without symlinks, from this root; empty: it is not there.
  std::string real_path(std::string_view path) const;

  // These change nothing outside of the file system that the root is on: a folder below which another one is mounted
  // is refused (EXDEV). The last part of the path is replaced, not followed.
  /// Replaces the file, or makes it and its folders.
  Result<void> write(std::string_view path, std::string_view text, mode_t mode = 0644) const;
  /// A symlink; one that is there is replaced. Any other file is left as it is.
  Result<void> link(std::string_view path, const std::string& target) const;

 private:
  RootFolder(std::string path, Descriptor folder);

  Result<Descriptor> make_folder(std::string_view path) const;

  std::string path_;
  Descriptor folder_;
  std::string real_path_;  // of the folder itself, on this machine
};

}  // namespace drover
