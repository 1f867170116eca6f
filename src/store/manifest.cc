#include "store/manifest.h"

#include <zstd.h>

#include "base/check.h"
#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kMostPacksWaiting = 16;
constexpr std::size_t kPacksPerCommit = 16;
constexpr int kLevel = 1;
constexpr std::size_t kRecentBytes = std::size_t{4} << 20;

// Items in a pack: a length in base 128, low digits first, then the bytes.
void append_length(std::string& out, std::size_t length) {
  while (length >= 128) {
    out += static_cast<char>(length | 128);
    length >>= 7;
  }
  out += static_cast<char>(length);
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
                "separate items with newlines, or with NUL bytes and -0");
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
  return ManifestReader(store, id, *info, std::make_shared<ManifestChunks>(kRecentBytes));
}

Result<std::string> ManifestReader::item(ItemIndex index) {
  if (index.value >= info_.items) {
    return fail(ErrorCode::not_found, concat("item ", index.value, " not found; the list has ", info_.items, " items"));
  }
  if (info_.kind == ManifestKind::range) {
    return std::to_string(info_.first_number + static_cast<std::int64_t>(index.value));
  }
  if (!chunk_ || !chunk_->holds(index)) {
    auto found = chunks_->find(*store_, id_, index);
    if (!found) return pass(found);
    chunk_ = std::move(*found);
  }
  return std::string(chunk_->item(index));
}

}  // namespace drover
