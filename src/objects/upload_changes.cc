// Objects that come in parts: the parts are kept until the upload is completed, which makes them one object without
// moving a byte, or until it is given up.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "objects/bucket_lookup.h"
#include "objects/change_with.h"
#include "objects/row_text.h"

namespace drover {
namespace {

constexpr std::uint64_t kAllParts = 1'000'000;  // more than an upload can have
constexpr std::size_t kMostPlaces = 50'000;     // of one object

}  // namespace

void BucketStore::begin_upload(NewUpload upload, BucketAnswered<std::string> answered) {
  change<std::string>(
      [this, upload = std::move(upload)](BucketIndex& index) mutable -> Result<BucketResult<std::string>> {
        auto found = found_bucket(index, upload.bucket);
        if (!found) return refused<std::string>(std::move(found.error()));
        auto sequence = take_sequence(index);
        if (!sequence) return pass(sequence);
        const Upload begun{.id = id_with(*sequence), .begun_ms = outside_.now_ms(), .object = std::move(upload)};
        if (auto added = index.add_upload(found->number, begun); !added) return pass(added);
        return BucketResult<std::string>(begun.id);
      },
      std::move(answered));
}

Result<BucketResult<StoredPart>> BucketStore::put_part_now(BucketIndex& index, const UploadName& name, StoredPart part,
                                                           const std::function<Result<BucketResult<Bytes>>()>& bytes) {
  auto found = found_upload(index, name);
  if (!found) return refused<StoredPart>(std::move(found.error()));
  auto content = bytes();
  if (!content) return pass(content);
  if (!*content) return refused<StoredPart>(std::move(content->error()));
  auto before = index.part(found->number, part.number);
  if (!before) return pass(before);
  if (const std::optional<PartRow>& old = *before) {
    if (auto gone = let_go(index, old->places); !gone) return pass(gone);
  }
  part.size = (*content)->size;
  part.modified_ms = outside_.now_ms();
  if (auto put = index.put_part(found->number, {part, std::move((*content)->places)}); !put) return pass(put);
  return BucketResult<StoredPart>(std::move(part));
}

void BucketStore::put_part(UploadName upload, StoredPart part, std::unique_ptr<NewData> data,
                           BucketAnswered<StoredPart> answered) {
  change_with<StoredPart>(
      std::move(data),
      [this, upload = std::move(upload), part = std::move(part)](BucketIndex& index, Data& own) {
        return put_part_now(index, upload, part, [&]() -> Result<BucketResult<Bytes>> { return bytes_of(index, own); });
      },
      std::move(answered));
}

void BucketStore::copy_part(UploadName upload, StoredPart part, CopySource source,
                            BucketAnswered<StoredPart> answered) {
  change<StoredPart>(
      [this, upload = std::move(upload), part = std::move(part),
       source = std::move(source)](BucketIndex& index) -> Result<BucketResult<StoredPart>> {
        auto found = found_object(index, source.name);
        if (!found) return refused<StoredPart>(std::move(found.error()));
        if (found->object.sequence != source.sequence) return refused<StoredPart>({BucketFault::source_changed, {}});
        return put_part_now(index, upload, part,
                            [&]() -> Result<BucketResult<Bytes>> { return shared_bytes(index, *found, source); });
      },
      std::move(answered));
}

void BucketStore::abort_upload(UploadName upload, BucketAnswered<void> answered) {
  change<void>(
      [this, upload = std::move(upload)](BucketIndex& index) -> Result<BucketResult<void>> {
        auto found = found_upload(index, upload);
        if (!found) return refused<void>(std::move(found.error()));
        if (auto dropped = drop_upload(index, found->number); !dropped) return pass(dropped);
        return BucketResult<void>();
      },
      std::move(answered));
}

Result<void> BucketStore::drop_upload(BucketIndex& index, std::int64_t upload) {
  auto parts = index.parts(upload, 0, kAllParts);
  if (!parts) return pass(parts);
  for (const PartRow& it : *parts) {
    if (auto gone = let_go(index, it.places); !gone) return gone;
  }
  return index.remove_upload(upload);
}

void BucketStore::complete_upload(CompleteUpload upload, BucketAnswered<StoredObject> answered) {
  change<StoredObject>([this, upload = std::move(upload)](BucketIndex& index) { return complete_now(index, upload); },
                       std::move(answered));
}

Result<BucketResult<StoredObject>> BucketStore::complete_now(BucketIndex& index, const CompleteUpload& upload) {
  auto found = found_upload(index, upload.upload);
  if (!found && found.error().fault == BucketFault::no_such_upload) {
    // Whoever did not hear the answer asks again.
    auto object = found_object(index, {.bucket = upload.upload.bucket, .key = upload.upload.key});
    if (object && object->upload == upload.upload.id) return BucketResult<StoredObject>(std::move(object->object));
  }
  if (!found) return refused<StoredObject>(std::move(found.error()));
  auto rows = index.parts(found->number, 0, kAllParts);
  if (!rows) return pass(rows);
  std::map<std::uint32_t, PartRow> parts;
  for (PartRow& it : *rows) parts.emplace(it.part.number, std::move(it));
  Bytes whole{.upload = upload.upload.id};
  for (const auto& [number, etag] : upload.parts) {
    auto part = parts.extract(number);
    if (part.empty() || part.mapped().part.etag != etag) {
      return refused<StoredObject>(
          {BucketFault::no_such_part,
           {ErrorCode::not_found, concat("part ", number, " did not come, or not with this ETag"), ""}});
    }
    whole.size += part.mapped().part.size;
    whole.part_sizes.push_back(part.mapped().part.size);
    std::ranges::move(part.mapped().places, std::back_inserter(whole.places));
  }
  if (whole.places.size() > kMostPlaces) {
    return refused<StoredObject>(
        {BucketFault::too_many_pieces,
         {ErrorCode::bad_input, "the object would be made of too many pieces of others", "copy larger parts"}});
  }
  auto put = put_now(index, upload.object, [&]() -> Result<BucketResult<Bytes>> { return std::move(whole); });
  if (!put || !*put) return put;
  for (const auto& [number, left] : parts) {
    if (auto gone = let_go(index, left.places); !gone) return pass(gone);
  }
  if (auto removed = index.remove_upload(found->number); !removed) return pass(removed);
  return put;
}

}  // namespace drover
