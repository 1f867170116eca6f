// Bringing one image into the store.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/image/image_store.h"

namespace drover {

/// Used once. Whoever needs the same layers at the same time waits here for the first one, and finds them.
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
  /// Shared for those that are there, exclusive for those that are not.
  ImageResult<std::map<std::string, FileLock>> lock_layers(const ImageManifest& manifest);
  ImageResult<void> find_room(std::uint64_t bytes) const;
  ImageResult<void> unpack(ImageSource& source, const WorkFolder& work, const ImageManifest& manifest,
                           const ImageConfig& config, const std::vector<Blob>& missing);
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
