// Which images the store has: what each consists of, what it was called, and when somebody last used it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "run/image/image.h"
#include "run/image/layer_store.h"

namespace drover {

struct ImageRecord {
  std::string digest;
  ImageManifest manifest;
  std::vector<std::string> names;
  std::int64_t used_ms = 0;  // since the epoch
};

class ImageRecords {
 public:
  ImageRecords(const StoreFolder& folder, const LayerStore& layers, OverlayMarks marks)
      : folder_(folder), layers_(layers), marks_(marks) {}

  /// The manifest that a digest means here: its own, or that of an index for this machine.
  std::string manifest_of(const std::string& digest) const;
  /// Held and touched; nothing if it is not there, or not whole.
  std::shared_ptr<const Image> hold(const ImageReference& reference, const std::string& manifest_digest) const;
  /// Written all at once. Its layers are there, and their locks the caller's.
  ImageResult<void> add(const WorkFolder& work, const std::string& digest, std::string_view manifest,
                        std::string_view config) const;
  void add_name(const std::string& digest, const std::string& name) const;
  void add_index(const WorkFolder& work, const std::string& index_digest, const std::string& manifest_digest) const;

  std::vector<ImageRecord> all() const;
  /// Somebody holds it.
  bool in_use(const std::string& digest) const;
  /// It was used just now.
  void touch(const std::string& digest) const;
  /// False: somebody holds it.
  bool remove(const WorkFolder& work, const std::string& digest) const;

 private:
  const StoreFolder& folder_;
  const LayerStore& layers_;
  OverlayMarks marks_;
};

}  // namespace drover
