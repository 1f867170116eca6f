// Where the image store keeps what, and the work folders in it that a killed process leaves behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/image/file_lock.h"
#include "run/image/image_error.h"

namespace drover {

/// `images/HEX` (a manifest, its configuration, its names; `used` is locked by whoever uses it, and touched then),
/// `indexes/HEX` (a link to the image that an index means on this machine), `layers/sha256/HEX` (`tree` is the layer,
/// `layer.json` what is known of it), `locks/KIND-HEX` (whoever fetches, makes, keeps or removes a layer or an image),
/// `work/N` (locked while somebody works in it).
class StoreFolder {
 public:
  explicit StoreFolder(std::string path) : path_(std::move(path)) {}

  /// Only its owner may enter: there are setuid programs in it that somebody else has made.
  ImageResult<void> make() const;

  const std::string& path() const { return path_; }
  std::string images() const { return path_ + "/images"; }
  std::string image(std::string_view digits) const { return images() + "/" + std::string(digits); }
  std::string used(std::string_view digits) const { return image(digits) + "/used"; }
  std::string indexes() const { return path_ + "/indexes"; }
  std::string index(std::string_view digits) const { return indexes() + "/" + std::string(digits); }
  std::string layers() const { return path_ + "/layers/sha256"; }
  std::string layer(std::string_view digits) const { return layers() + "/" + std::string(digits); }
  // Of their own kinds: a layer that has the digest of an image must not make two wait for each other.
  // Images and archives are locked for one place that they come from: others do not wait for it.
  std::string image_lock(std::string_view digits, std::string_view place) const {
    return locks() + "/image-" + std::string(digits) + "-" + std::string(place.substr(0, 16));
  }
  std::string fetch_lock(std::string_view digits, std::string_view place) const {
    return locks() + "/fetch-" + std::string(digits) + "-" + std::string(place.substr(0, 16));
  }
  std::string layer_lock(std::string_view digits) const { return locks() + "/layer-" + std::string(digits); }
  std::string locks() const { return path_ + "/locks"; }
  std::string work() const { return path_ + "/work"; }
  std::string gate() const { return path_ + "/locks/gate"; }

  /// What its disk has room for; nothing: nobody knows.
  std::optional<std::uint64_t> free_bytes() const;

  /// Removes the work folders of those who are gone.
  void clean() const;

 private:
  std::string path_;
};

/// A folder of one's own in the store, gone at the end, or when the next one cleans up.
class WorkFolder {
 public:
  static ImageResult<WorkFolder> make(const StoreFolder& store);
  ~WorkFolder();
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileLock lock_;
};

/// Whole, or an errno in the result's error.
ImageResult<std::string> read_text(const std::string& path);
/// Made anew, and synced.
ImageResult<void> write_text(const std::string& path, std::string_view text);
/// The names in a folder, in order; none if it is not there.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace drover
