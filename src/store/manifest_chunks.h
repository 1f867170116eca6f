// Chunks of lists of items as they are read: unpacked, and kept as long as they are used.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ports/store.h"

namespace drover {

/// Items that follow each other.
class UnpackedChunk {
 public:
  static Result<std::shared_ptr<const UnpackedChunk>> unpack(const ManifestChunk& chunk);

  ItemIndex first() const { return first_; }
  bool holds(ItemIndex item) const { return item >= first_ && item.value - first_.value < places_.size(); }
  std::string_view item(ItemIndex item) const {
    const auto& [begin, end] = places_[item.value - first_.value];
    return std::string_view(bytes_).substr(begin, end - begin);
  }
  /// About what it takes in memory.
  std::size_t size() const { return bytes_.size() + places_.size() * sizeof(places_.front()); }

 private:
  ItemIndex first_;
  std::string bytes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // where each item begins and ends
};

/// The chunks that were used last, up to a size. From any thread. A manifest never changes, and its number is never
/// given to another, so none of them grows stale.
class ManifestChunks {
 public:
  explicit ManifestChunks(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// The one that holds the item; it is read if it is not there.
  Result<std::shared_ptr<const UnpackedChunk>> find(StoreReader& store, ManifestId manifest, ItemIndex item);

 private:
  struct Kept {
    ManifestId manifest;
    std::shared_ptr<const UnpackedChunk> chunk;
  };
  using Recent = std::list<Kept>;

  std::shared_ptr<const UnpackedChunk> known(ManifestId manifest, ItemIndex item);

  const std::size_t most_bytes_;
  std::mutex mutex_;  // guards what follows
  Recent recent_;     // the latest used first
  std::map<std::pair<ManifestId, ItemIndex>, Recent::iterator> by_first_;
  std::size_t bytes_ = 0;
};

}  // namespace drover
