// Bringing one image into the store.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/image/image_store.h"

namespace drover {

/// Used once. Whoever needs the same layers from the same place at the same time waits here for the first one, and
/// finds them. Two places do not wait for each other: what both have may be fetched twice, and is unpacked once.
class ImageFetch {
 public:
  /// Removes what nobody uses until so many bytes of the disk are free, if that is possible.
  using MakeRoom = std::function<void(std::uint64_t free_bytes)>;

  ImageFetch(const StoreFolder& folder, const LayerStore& layers, const ImageRecords& records,
             const ImageLimits& limits, const ImageReference& reference, const ImageAccess& access,
             const ImageProgressCallback& progress, const std::stop_token& stop, const MakeRoom& make_room);

  ImageResult<std::shared_ptr<const Image>> run();
  /// It was not there before.
  bool has_brought_it() const { return has_brought_it_; }

 private:
  ImageResult<std::shared_ptr<const Image>> bring(ImageSource& source, const WorkFolder& work,
                                                  const ResolvedImage& resolved);
  ImageResult<ImageManifest> checked_manifest(const ResolvedImage& resolved) const;
  ImageResult<ImageConfig> checked_config(ImageSource& source, const ResolvedImage& resolved,
                                          const ImageManifest& manifest, std::string& text) const;
  ImageResult<FileLock> lock(const std::string& path, LockKind kind);
  struct Held {
    std::vector<FileLock> archives;
    std::vector<FileLock> layers;
  };
  /// Archives of all layers that are not there lie ready to be unpacked, and nobody else does so, or removes the
  /// others.
  ImageResult<Held> bring_layers(ImageSource& source, const std::string& manifest_digest,
                                 const ImageManifest& manifest);
  /// Into `fetched`, in addition to what was before.
  ImageResult<void> fetch_archives(ImageSource& source, const std::string& manifest_digest,
                                   const ImageManifest& manifest, const std::vector<Blob>& missing,
                                   std::map<std::string, Blob>& fetched);
  /// Each once, in the manifest's order.
  std::vector<Blob> missing_of(const ImageManifest& manifest) const;
  /// From this place nobody else fetches them.
  ImageResult<std::vector<FileLock>> lock_archives(const std::vector<Blob>& layers);
  /// Shared for those that are there, exclusive for those that are not. Held while they are unpacked, not longer.
  ImageResult<std::vector<FileLock>> lock_layers(const ImageManifest& manifest);
  /// The registry, the file or the daemon that it comes from, as a part of a file's name.
  std::string place() const;
  ImageResult<void> find_room(std::uint64_t bytes) const;
  ImageResult<void> unpack(ImageSource& source, const WorkFolder& work, const ImageManifest& manifest,
                           const ImageConfig& config);
  void say(const ImageProgress& now);

  const StoreFolder& folder_;
  const LayerStore& layers_;
  const ImageRecords& records_;
  const ImageLimits& limits_;
  const ImageReference& reference_;
  const ImageAccess& access_;
  const ImageProgressCallback& progress_;
  const std::stop_token& stop_;
  const MakeRoom& make_room_;
  bool has_brought_it_ = false;
  std::optional<ImageProgress> said_;
};

}  // namespace drover
