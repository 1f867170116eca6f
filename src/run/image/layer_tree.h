// The folder that a layer becomes, in the form that overlay stacks. Nothing is ever written by a path: each parent is
// opened with openat2(RESOLVE_IN_ROOT), as though the folder were the root of everything, and what is made is made in
// what was opened. So links in the image lead nowhere but into the image.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ports/descriptor.h"
#include "run/image/image_error.h"
#include "run/image/image_limits.h"
#include "run/image/layer_path.h"

namespace drover {

/// How overlay is told that a folder hides what lies below it. The user's form needs no root, and the mount option
/// `userxattr`.
enum class OverlayMarks : std::uint8_t { trusted, user };

/// The one that can be written to files below the open folder.
OverlayMarks possible_marks(int folder);

struct EntryAttributes {
  mode_t mode = 0755;  // twelve bits
  uid_t user = 0;
  gid_t group = 0;
  timespec modified{};
  std::vector<std::pair<std::string, std::string>> xattrs;
};

/// What was left out, and how often.
using LayerNotes = std::map<std::string, std::uint64_t>;

class LayerTree {
 public:
  /// `root` is the folder; `trash` an empty one beside it. Owners and devices are kept only by root.
  /// `entries_left`: how many of `limits.entries` the layers below have not used.
  LayerTree(Descriptor root, Descriptor trash, OverlayMarks marks, const ImageLimits& limits,
            std::uint64_t entries_left);

  ImageResult<void> folder(const LayerPath& path, const EntryAttributes& attributes);
  /// Open for writing; finish() gives it its attributes.
  ImageResult<Descriptor> file(const LayerPath& path);
  ImageResult<void> finish(const Descriptor& file, const EntryAttributes& attributes);
  ImageResult<void> symlink(const LayerPath& path, const std::string& target, const EntryAttributes& attributes);
  ImageResult<void> hard_link(const LayerPath& path, const LayerPath& target);
  /// A device or a pipe.
  ImageResult<void> node(const LayerPath& path, mode_t type, dev_t device, const EntryAttributes& attributes);
  /// What lower layers have under this name is gone.
  ImageResult<void> whiteout(const LayerPath& path);
  /// What lower layers have in this folder is gone.
  ImageResult<void> opaque(const std::string& folder);

  /// Folders get their modes and times when nothing is put into them any more.
  ImageResult<void> seal();

  /// Beyond a hundred different ones they are counted together: what they are called is the image's choice.
  void note(const std::string& what);
  const LayerNotes& notes() const { return notes_; }
  std::uint64_t entries() const { return entries_; }
  /// Nothing of the layers below shows through.
  bool hides_everything() const { return hides_everything_; }

 private:
  enum class Before : std::uint8_t { nothing, folder, whiteout, other };

  ImageResult<int> parent_of(const LayerPath& path);
  ImageResult<int> open_folder(const std::string& path);
  ImageResult<void> make_folders(const std::string& path);
  ImageResult<void> count(const LayerPath& path);
  Before what_is_at(int parent, const std::string& name) const;
  ImageResult<void> clear(int parent, const LayerPath& path);
  ImageResult<void> mark_opaque(int parent, const std::string& name);
  /// Of the open file, or of a name in the open folder.
  ImageResult<void> own(int at, const std::string& name, const EntryAttributes& attributes);
  mode_t mode_of(const EntryAttributes& attributes) const;
  ImageResult<void> set_xattrs(int file, const EntryAttributes& attributes);
  /// Makes something by `make`, which returns -1 and sets errno, in place of what was there.
  template <class Make>
  ImageResult<Before> put(const LayerPath& path, Make make);

  Descriptor root_;
  Descriptor trash_;
  OverlayMarks marks_;
  bool is_root_user_;
  const ImageLimits& limits_;
  std::uint64_t entries_left_;
  std::uint64_t entries_ = 0;
  bool hides_everything_ = false;
  // The parent that was opened last: files of a folder mostly follow each other. Forgotten whenever something is
  // replaced, since it may have been that.
  std::string open_path_;
  Descriptor open_;
  struct Late {
    mode_t mode;
    timespec modified;
  };
  std::map<std::string, Late> late_;
  std::uint64_t late_bytes_ = 0;
  std::uint64_t trashed_ = 0;
  LayerNotes notes_;
};

}  // namespace drover
