// Unpacked layers, one folder per digest, shared by all images.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "run/image/layer_unpacker.h"
#include "run/image/store_folder.h"

namespace drover {

struct StoredLayer {
  std::string diff_id;
  LayerContent content;
};

class LayerStore {
 public:
  LayerStore(const StoreFolder& folder, OverlayMarks marks) : folder_(folder), marks_(marks) {}

  std::string tree(const std::string& digest) const;
  /// What is known of a layer that is there, whole.
  std::optional<StoredLayer> find(const std::string& digest) const;
  /// Unpacks a blob in the work folder. The caller holds the layer's lock, until it is published.
  ImageResult<StoredLayer> unpack(const WorkFolder& work, Descriptor blob, const LayerDemand& demand,
                                  const std::function<void(std::uint64_t)>& read, const std::stop_token& stop) const;
  /// Syncs what was unpacked in the work folder, and moves each to its place at once.
  ImageResult<void> publish(const WorkFolder& work, const std::vector<std::string>& digests) const;
  /// All that are there, by their digests.
  std::vector<std::string> all() const;
  /// Gone at once, though its bytes take a while. The caller holds the layer's lock.
  void remove(const WorkFolder& work, const std::string& digest) const;

 private:
  const StoreFolder& folder_;
  OverlayMarks marks_;
};

}  // namespace drover
