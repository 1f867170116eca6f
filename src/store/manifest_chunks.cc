#include "store/manifest_chunks.h"

#include <zstd.h>

#include "base/text.h"
#include "store/manifest.h"

namespace drover {
namespace {

Error damaged(std::string_view why) {
  return {ErrorCode::damaged, concat("the stored list of items is damaged: ", why), "start over with --fresh"};
}

Result<std::string> decompress(std::string_view packed) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kPackBytes + 2 * kLongestItem) {
    return std::unexpected(damaged("a chunk has an invalid size"));
  }
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) return std::unexpected(damaged("a chunk cannot be decompressed"));
  return out;
}

}  // namespace

Result<std::shared_ptr<const UnpackedChunk>> UnpackedChunk::unpack(const ManifestChunk& chunk) {
  auto bytes = decompress(chunk.data.value);
  if (!bytes) return pass(bytes);
  auto out = std::make_shared<UnpackedChunk>();
  out->first_ = chunk.first;
  out->bytes_ = std::move(*bytes);
  std::size_t at = 0;
  while (at < out->bytes_.size()) {
    std::size_t length = 0;
    int shift = 0;
    unsigned char digit = 128;
    while (digit >= 128 && at < out->bytes_.size() && shift < 35) {
      digit = static_cast<unsigned char>(out->bytes_[at++]);
      length |= static_cast<std::size_t>(digit & 127) << shift;
      shift += 7;
    }
    if (digit >= 128 || length > out->bytes_.size() - at)
      return std::unexpected(damaged("an item extends past its chunk"));
    out->places_.emplace_back(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length));
    at += length;
  }
  if (out->places_.size() != chunk.count) return std::unexpected(damaged("a chunk has an unexpected number of items"));
  return out;
}

std::shared_ptr<const UnpackedChunk> ManifestChunks::known(ManifestId manifest, ItemIndex item) {
  const std::scoped_lock lock(mutex_);
  auto it = by_first_.upper_bound({manifest, item});
  if (it == by_first_.begin()) return nullptr;
  const auto kept = std::prev(it)->second;
  if (kept->manifest != manifest || !kept->chunk->holds(item)) return nullptr;
  recent_.splice(recent_.begin(), recent_, kept);
  return kept->chunk;
}

Result<std::shared_ptr<const UnpackedChunk>> ManifestChunks::find(StoreReader& store, ManifestId manifest,
                                                                  ItemIndex item) {
  if (auto found = known(manifest, item)) return found;
  auto packed = store.chunk(manifest, item);
  if (!packed) return pass(packed);
  auto chunk = UnpackedChunk::unpack(*packed);
  if (!chunk) return pass(chunk);
  if (!(*chunk)->holds(item)) return std::unexpected(damaged("an item is missing"));
  const std::scoped_lock lock(mutex_);
  const std::pair key(manifest, (*chunk)->first());
  if (by_first_.contains(key)) return *chunk;  // somebody else was faster
  recent_.push_front({manifest, *chunk});
  by_first_[key] = recent_.begin();
  bytes_ += (*chunk)->size();
  while (bytes_ > most_bytes_ && recent_.size() > 1) {
    const Kept& oldest = recent_.back();
    bytes_ -= oldest.chunk->size();
    by_first_.erase({oldest.manifest, oldest.chunk->first()});
    recent_.pop_back();
  }
  return *chunk;
}

}  // namespace drover
