// What is read from the store: each question with a connection of its own, beside the thread that writes.
#include "objects/bucket_lookup.h"
#include "objects/bucket_store.h"

namespace drover {
namespace {

/// An object that is replaced again and again while it is opened.
constexpr int kMostLooks = 20;

}  // namespace

Result<std::vector<Bucket>> BucketStore::list_buckets() {
  auto rows = read<std::vector<BucketRow>>([](BucketIndex& index) -> BucketResult<std::vector<BucketRow>> {
    auto found = index.buckets();
    if (!found) return trouble(std::move(found.error()));
    return std::move(*found);
  });
  if (!rows) return std::unexpected(std::move(rows.error().error));
  std::vector<Bucket> out;
  out.reserve(rows->size());
  for (BucketRow& it : *rows) out.push_back(std::move(it.bucket));
  return out;
}

BucketResult<Bucket> BucketStore::bucket(const std::string& name) {
  return read<Bucket>([&](BucketIndex& index) -> BucketResult<Bucket> {
    auto found = found_bucket(index, name);
    if (!found) return std::unexpected(std::move(found.error()));
    return std::move(found->bucket);
  });
}

BucketResult<StoredObject> BucketStore::head(const std::string& bucket, const std::string& key) {
  return read<StoredObject>([&](BucketIndex& index) -> BucketResult<StoredObject> {
    auto found = found_object(index, bucket, key);
    if (!found) return std::unexpected(std::move(found.error()));
    return std::move(found->object);
  });
}

// Its bytes may be let go between two looks: then there is another object, or none.
BucketResult<ObjectContent> BucketStore::open(const std::string& bucket, const std::string& key) {
  return read<ObjectContent>([&](BucketIndex& index) -> BucketResult<ObjectContent> {
    for (int looks = 1;; ++looks) {
      auto found = found_object(index, bucket, key);
      if (!found) return std::unexpected(std::move(found.error()));
      ObjectContent out{.object = std::move(found->object), .pieces = {}};
      std::optional<Error> missing;
      for (const DataPlace& place : found->places) {
        ObjectContent::Piece piece{.file = {}, .bytes = {}, .size = place.size};
        if (place.is_file) {
          auto file = files_.read(place.number);
          if (!file) missing = std::move(file.error());
          if (file) piece.file = std::move(*file);
        } else {
          auto bytes = index.small_data(place.number);
          if (!bytes) missing = std::move(bytes.error());
          if (bytes) piece.bytes = std::move(*bytes);
        }
        if (missing) break;
        out.pieces.push_back(std::move(piece));
      }
      if (!missing) return out;
      if (missing->code != ErrorCode::not_found) return trouble(std::move(*missing));
      if (looks == kMostLooks) {
        return trouble({ErrorCode::damaged, concat("the object '", key, "' is damaged: ", missing->message), ""});
      }
    }
  });
}

BucketResult<ObjectPage> BucketStore::list(const std::string& bucket, const ObjectQuestion& question) {
  return read<ObjectPage>([&](BucketIndex& index) -> BucketResult<ObjectPage> {
    auto found = found_bucket(index, bucket);
    if (!found) return std::unexpected(std::move(found.error()));
    auto page = index.list(found->number, question);
    if (!page) return trouble(std::move(page.error()));
    return std::move(*page);
  });
}

}  // namespace drover
