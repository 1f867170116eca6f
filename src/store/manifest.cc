#include "store/manifest.h"

#include <zstd.h>

#include "base/check.h"
#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kPackBytes = std::size_t{256} << 10;
constexpr std::size_t kMostPacksWaiting = 16;
constexpr std::size_t kPacksPerCommit = 16;
constexpr int kLevel = 1;
constexpr std::size_t kRecentChunks = 8;

// Items in a pack: a length in base 128, low digits first, then the bytes.
void append_length(std::string& out, std::size_t length) {
  while (length >= 128) {
    out += static_cast<char>(length | 128);
    length >>= 7;
  }
  out += static_cast<char>(length);
}

Error damaged(std::string_view why) {
  return {ErrorCode::damaged, concat("the stored list of items is damaged: ", why), "start over with --fresh"};
}

struct FreeCompressor {
  void operator()(ZSTD_CCtx* it) const { ZSTD_freeCCtx(it); }
};

std::string compress(ZSTD_CCtx* context, const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compressCCtx(context, out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  DROVER_CHECK(ZSTD_isError(size) == 0, "compressing into a buffer of the bound cannot fail");
  out.resize(size);
  return out;
}

Result<std::string> decompress(std::string_view packed) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kPackBytes + 2 * kLongestItem) {
    return std::unexpected(damaged("a chunk has no valid size"));
  }
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) return std::unexpected(damaged("a chunk does not unpack"));
  return out;
}

}  // namespace

Result<std::unique_ptr<ManifestWriter>> ManifestWriter::begin(Store& store) {
  auto id = store.begin_manifest();
  if (!id) return pass(id);
  return std::unique_ptr<ManifestWriter>(new ManifestWriter(store, *id));
}

ManifestWriter::~ManifestWriter() {
  {
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    packs_.clear();  // nobody wants them any more
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!ended_) store_.drop_manifest(id_);
}

Result<void> ManifestWriter::add(std::string_view item) {
  if (item.size() > kLongestItem) {
    return fail(ErrorCode::bad_input, concat("item ", pack_.first.value + pack_.count, " is longer than 1 MiB"),
                "a list has one item per line, or one per NUL byte with -0");
  }
  append_length(pack_.bytes, item.size());
  pack_.bytes += item;
  ++pack_.count;
  if (pack_.bytes.size() < kPackBytes) return {};
  return hand_over();
}

Result<void> ManifestWriter::hand_over() {
  if (pack_.count == 0) return {};
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  Pack next;
  next.first = ItemIndex{pack_.first.value + pack_.count};
  next.bytes.reserve(kPackBytes + 4096);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return packs_.size() < kMostPacksWaiting || failed_; });
  if (failed_) return std::unexpected(*failed_);
  packs_.push_back(std::exchange(pack_, std::move(next)));
  lock.unlock();
  changed_.notify_all();
  return {};
}

void ManifestWriter::run() {
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  std::vector<ManifestChunk> chunks;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !packs_.empty() || finished_; });
    const bool last = packs_.empty();
    if (!last) {
      const Pack pack = std::move(packs_.front());
      packs_.pop_front();
      lock.unlock();
      changed_.notify_all();
      chunks.push_back({pack.first, pack.count, Bytes{compress(context.get(), pack.bytes)}});
      lock.lock();
    }
    if (chunks.size() < kPacksPerCommit && !last) continue;
    lock.unlock();
    auto stored = chunks.empty() ? Result<void>{} : store_.add_chunks(id_, chunks);
    chunks.clear();
    lock.lock();
    if (!stored) {
      failed_ = stored.error();
      changed_.notify_all();
      return;
    }
    if (last) return;
  }
}

Result<void> ManifestWriter::store_alone() {
  if (pack_.count == 0) return {};
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  auto stored = store_.add_chunks(id_, {{pack_.first, pack_.count, Bytes{compress(context.get(), pack_.bytes)}}});
  pack_ = {.first = ItemIndex{pack_.count}};
  return stored;
}

Result<void> ManifestWriter::store_rest() {
  auto handed = hand_over();
  {
    const std::scoped_lock lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (failed_) return std::unexpected(*failed_);
  return handed;
}

Result<WrittenManifest> ManifestWriter::finish(Lasting lasting) {
  if (auto stored = thread_.joinable() ? store_rest() : store_alone(); !stored) return pass(stored);
  const std::uint64_t items = pack_.first.value;
  auto ended = store_.end_manifest(id_, ManifestInfo{ManifestKind::list, items, 0}, lasting);
  if (!ended) return pass(ended);
  ended_ = true;
  return WrittenManifest{id_, items};
}

Result<WrittenManifest> write_range_manifest(Store& store, std::int64_t first, std::uint64_t count) {
  auto id = store.begin_manifest();
  if (!id) return pass(id);
  auto ended = store.end_manifest(*id, ManifestInfo{ManifestKind::range, count, first}, Lasting::with_the_job);
  if (!ended) return pass(ended);
  return WrittenManifest{*id, count};
}

Result<ManifestReader> ManifestReader::open(StoreReader& store, ManifestId id) {
  auto info = store.manifest(id);
  if (!info) return pass(info);
  return ManifestReader(store, id, *info);
}

Result<std::string> ManifestReader::item(ItemIndex index) {
  if (index.value >= info_.items) {
    return fail(ErrorCode::not_found, concat("there is no item ", index.value, "; the list has ", info_.items));
  }
  if (info_.kind == ManifestKind::range) {
    return std::to_string(info_.first_number + static_cast<std::int64_t>(index.value));
  }
  auto found = unpacked_with(index);
  if (!found) return pass(found);
  const Unpacked& chunk = **found;
  const std::uint64_t at = index.value - chunk.first.value;
  return chunk.bytes.substr(chunk.begins[at], chunk.ends[at] - chunk.begins[at]);
}

Result<const ManifestReader::Unpacked*> ManifestReader::unpacked_with(ItemIndex index) {
  for (auto it = recent_.begin(); it != recent_.end(); ++it) {
    if (index < it->first || index.value - it->first.value >= it->ends.size()) continue;
    recent_.splice(recent_.begin(), recent_, it);
    return &recent_.front();
  }
  auto chunk = store_->chunk(id_, index);
  if (!chunk) return pass(chunk);
  auto bytes = decompress(chunk->data.value);
  if (!bytes) return pass(bytes);

  Unpacked unpacked{chunk->first, std::move(*bytes), {}, {}};
  unpacked.begins.reserve(chunk->count);
  unpacked.ends.reserve(chunk->count);
  std::size_t at = 0;
  while (at < unpacked.bytes.size()) {
    std::size_t length = 0;
    int shift = 0;
    unsigned char digit = 128;
    while (digit >= 128 && at < unpacked.bytes.size() && shift < 35) {
      digit = static_cast<unsigned char>(unpacked.bytes[at++]);
      length |= static_cast<std::size_t>(digit & 127) << shift;
      shift += 7;
    }
    if (digit >= 128 || length > unpacked.bytes.size() - at)
      return std::unexpected(damaged("an item runs over its chunk"));
    unpacked.begins.push_back(static_cast<std::uint32_t>(at));
    at += length;
    unpacked.ends.push_back(static_cast<std::uint32_t>(at));
  }
  if (unpacked.ends.size() != chunk->count) return std::unexpected(damaged("a chunk holds another number of items"));
  recent_.push_front(std::move(unpacked));
  if (recent_.size() > kRecentChunks) recent_.pop_back();
  return &recent_.front();
}

}  // namespace drover
