// A job's items: written in compressed chunks as the list is read, read back one by one. However long the list, only a
// few chunks are in memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ports/store.h"
#include "store/manifest_chunks.h"

namespace drover {

/// An item longer than this is refused: surely it is no item. What a command line can carry the kernel says (128 KiB an
/// argument, as a rule), and an item that is too long for it fails alone; but a JSON item may be long and its fields
/// short.
inline constexpr std::size_t kLongestItem = std::size_t{1} << 20;
/// A chunk is closed when it holds so much before compression.
inline constexpr std::size_t kPackBytes = std::size_t{256} << 10;

struct WrittenManifest {
  ManifestId id;
  std::uint64_t items = 0;
};

/// Takes items one by one. Packing stands on the caller's thread; compressing and storing on one of its own, unless
/// there are few.
class ManifestWriter {
 public:
  static Result<std::unique_ptr<ManifestWriter>> begin(Store& store);
  /// What was not finished is dropped.
  ~ManifestWriter();
  ManifestWriter(const ManifestWriter&) = delete;
  ManifestWriter& operator=(const ManifestWriter&) = delete;

  Result<void> add(std::string_view item);
  /// All items are stored when it returns.
  Result<WrittenManifest> finish(Lasting lasting = Lasting::with_the_job);

 private:
  struct Pack {
    ItemIndex first;
    std::uint64_t count = 0;
    std::string bytes;
  };

  ManifestWriter(Store& store, ManifestId id) : store_(store), id_(id) {}
  Result<void> hand_over();
  Result<void> store_alone();
  Result<void> store_rest();
  void run();

  Store& store_;
  const ManifestId id_;
  Pack pack_;
  bool ended_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Pack> packs_;
  bool finished_ = false;
  std::optional<Error> failed_;
  std::thread thread_;
};

/// A manifest of consecutive numbers: nothing but its bounds is stored.
Result<WrittenManifest> write_range_manifest(Store& store, std::int64_t first, std::uint64_t count);

/// Gives items by index; neighbours are cheap.
class ManifestReader {
 public:
  static Result<ManifestReader> open(StoreReader& store, ManifestId id);
  /// Of a manifest that is known, with chunks that others use too.
  ManifestReader(StoreReader& store, ManifestId id, ManifestInfo info, std::shared_ptr<ManifestChunks> chunks)
      : store_(&store), id_(id), info_(info), chunks_(std::move(chunks)) {}

  std::uint64_t items() const { return info_.items; }
  /// Whether it is just these numbers.
  bool is_range(std::int64_t first, std::uint64_t count) const {
    return info_.kind == ManifestKind::range && info_.first_number == first && info_.items == count;
  }
  Result<std::string> item(ItemIndex index);

 private:
  StoreReader* store_;
  ManifestId id_;
  ManifestInfo info_;
  std::shared_ptr<ManifestChunks> chunks_;
  std::shared_ptr<const UnpackedChunk> chunk_;  // the last one used
};

}  // namespace drover
