// How objects change. A bucket that keeps versions keeps what was replaced or deleted beside the current objects; one
// that has stopped keeping them replaces only the version 'null'.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "objects/bucket_lookup.h"
#include "objects/change_with.h"
#include "objects/row_text.h"

namespace drover {
namespace {

BucketError not_as_required(const std::string& key) {
  return {BucketFault::precondition_failed,
          {ErrorCode::conflict, concat("the object '", key, "' is not as the request requires it to be"), ""}};
}

/// So many of these bytes, from the offset on.
std::vector<DataPlace> cut_out(const std::vector<DataPlace>& places, std::uint64_t offset, std::uint64_t size) {
  std::vector<DataPlace> out;
  for (DataPlace it : places) {
    if (offset >= it.size) {
      offset -= it.size;
      continue;
    }
    it.offset += offset;
    it.size = std::min(it.size - offset, size);
    offset = 0;
    size -= it.size;
    if (it.size > 0) out.push_back(it);
  }
  return out;
}

}  // namespace

std::unique_ptr<NewData> BucketStore::begin_data(Placement placement) {
  return std::make_unique<Data>(*this, placement);
}

void BucketStore::put(PutObject object, std::unique_ptr<NewData> data, BucketAnswered<StoredObject> answered) {
  change_with<StoredObject>(
      std::move(data),
      [this, object = std::move(object)](BucketIndex& index, Data& own) {
        return put_now(index, object, [&]() -> Result<BucketResult<Bytes>> { return bytes_of(index, own); });
      },
      std::move(answered));
}

void BucketStore::copy(CopySource source, PutObject object, BucketAnswered<StoredObject> answered) {
  change<StoredObject>(
      [this, source = std::move(source), object = std::move(object)](BucketIndex& index) {
        return put_now(index, object, [&]() -> Result<BucketResult<Bytes>> {
          auto found = found_object(index, source.name);
          if (!found) return refused<Bytes>(std::move(found.error()));
          if (found->object.sequence != source.sequence) return refused<Bytes>({BucketFault::source_changed, {}});
          return shared_bytes(index, *found, source);
        });
      },
      std::move(answered));
}

Result<BucketStore::Bytes> BucketStore::bytes_of(BucketIndex& index, const Data& data) {
  Bytes out{.size = data.size()};
  if (data.file() != 0) {
    out.places.push_back({.number = data.file(), .size = data.size(), .is_file = true});
    if (auto added = index.add_file(data.file()); !added) return pass(added);
  } else if (data.size() > 0) {
    out.places.push_back({.number = next_small_++, .size = data.size()});
    if (auto added = index.add_small_data(out.places[0].number, data.small()); !added) return pass(added);
  }
  return out;
}

Result<BucketStore::Bytes> BucketStore::shared_bytes(BucketIndex& index, const ObjectRow& source,
                                                     const CopySource& how) {
  Bytes out{.size = how.size.value_or(source.object.size - how.offset)};
  out.places = cut_out(source.places, how.offset, out.size);
  for (DataPlace& it : out.places) {
    if (it.is_file) {
      if (auto shared = index.share({it}); !shared) return pass(shared);
      continue;
    }
    auto bytes = index.small_data(it.number);
    if (!bytes) return pass(bytes);
    it.number = next_small_++;
    auto added = index.add_small_data(it.number, std::string_view(*bytes).substr(std::exchange(it.offset, 0), it.size));
    if (!added) return pass(added);
  }
  return out;
}

Result<BucketResult<StoredObject>> BucketStore::put_now(BucketIndex& index, const PutObject& object,
                                                        const std::function<Result<BucketResult<Bytes>>()>& bytes) {
  auto found = found_bucket(index, object.bucket);
  if (!found) return refused<StoredObject>(std::move(found.error()));
  auto before = index.object(found->number, object.key);
  if (!before) return pass(before);
  std::optional<ObjectRow>& old = *before;
  const std::optional<std::string>& wanted = object.only_if_etag;
  if (wanted && !old) return refused<StoredObject>(no_key({object.bucket, object.key}).error());
  if ((old && object.only_if_new) || (wanted && old->object.etag != *wanted)) {
    return refused<StoredObject>(not_as_required(object.key));
  }
  auto content = bytes();
  if (!content) return pass(content);
  if (!*content) return refused<StoredObject>(std::move(content->error()));
  auto sequence = take_sequence(index);
  if (!sequence) return pass(sequence);
  const bool keeps_versions = found->bucket.versioning == Versioning::enabled;
  Bytes& whole = **content;
  ObjectRow row{.object = {.key = object.key,
                           .size = whole.size,
                           .modified_ms = outside_.now_ms(),
                           .etag = object.etag,
                           .headers = object.headers,
                           .storage_class = object.storage_class,
                           .tags = object.tags,
                           .version = keeps_versions ? id_with(*sequence) : std::string(kNullVersion),
                           .sequence = *sequence,
                           .part_sizes = std::move(whole.part_sizes)},
                .places = std::move(whole.places),
                .upload = std::move(whole.upload)};
  if (auto made = make_way(index, *found, std::move(old), object.key); !made) return pass(made);
  if (auto put = index.put_object(found->number, row); !put) return pass(put);
  if (auto told = tell(index, *found, row.object, object.event, object.cause); !told) return pass(told);
  return BucketResult<StoredObject>(std::move(row.object));
}

/// For a new version, or a delete marker. The row of the current object is left to the caller.
Result<void> BucketStore::make_way(BucketIndex& index, const BucketRow& bucket, std::optional<ObjectRow> old,
                                   const std::string& key) {
  const Versioning versioning = bucket.bucket.versioning;
  const bool is_null = old && old->object.version == kNullVersion;
  if (old) {
    const bool stays = versioning == Versioning::enabled || (versioning == Versioning::suspended && !is_null);
    auto done = stays ? index.add_old_version(bucket.number, *old) : let_go(index, old->places);
    if (!done) return done;
  }
  if (versioning != Versioning::suspended || is_null) return {};
  auto replaced = index.old_version(bucket.number, key, kNullVersion);
  if (!replaced) return pass(replaced);
  const std::optional<ObjectRow>& row = *replaced;
  if (!row) return {};
  if (auto gone = let_go(index, row->places); !gone) return gone;
  return index.remove_old_version(bucket.number, key, row->object.sequence);
}

void BucketStore::remove(RemoveObject object, BucketAnswered<Removed> answered) {
  change<Removed>([this, object = std::move(object)](BucketIndex& index) { return remove_now(index, object); },
                  std::move(answered));
}

Result<BucketResult<Removed>> BucketStore::remove_now(BucketIndex& index, const RemoveObject& object) {
  const ObjectName& name = object.name;
  auto found = found_bucket(index, name.bucket);
  if (!found) return refused<Removed>(std::move(found.error()));
  auto before = index.object(found->number, name.key);
  if (!before) return pass(before);
  std::optional<ObjectRow>& old = *before;
  const std::optional<std::string>& wanted = object.only_if_etag;
  if (wanted && !old) return refused<Removed>(no_key(name).error());
  if (wanted && *wanted != "*" && old->object.etag != *wanted) return refused<Removed>(not_as_required(name.key));
  auto removed = name.version ? remove_version(index, *found, object, *name.version)
                              : remove_current(index, *found, object, std::move(old));
  if (!removed) return pass(removed);
  return BucketResult<Removed>(std::move(*removed));
}

Result<Removed> BucketStore::remove_current(BucketIndex& index, const BucketRow& bucket, const RemoveObject& object,
                                            std::optional<ObjectRow> old) {
  const std::string& key = object.name.key;
  const Versioning versioning = bucket.bucket.versioning;
  Removed out{.was_there = old.has_value()};
  if (versioning == Versioning::never && !old) return out;
  auto sequence = take_sequence(index);
  if (!sequence) return pass(sequence);
  StoredObject gone{.key = key, .modified_ms = outside_.now_ms(), .sequence = *sequence};
  if (auto made = make_way(index, bucket, std::move(old), key); !made) return pass(made);
  if (auto removed = index.remove_object(bucket.number, key); !removed) return pass(removed);
  if (versioning != Versioning::never) {
    gone.is_marker = true;
    if (versioning == Versioning::enabled) gone.version = id_with(*sequence);
    if (auto added = index.add_old_version(bucket.number, {.object = gone}); !added) return pass(added);
    out.version = gone.version;
    out.is_marker = true;
  }
  const std::string event = gone.is_marker ? "ObjectRemoved:DeleteMarkerCreated" : "ObjectRemoved:Delete";
  if (auto told = tell(index, bucket, gone, event, object.cause); !told) return pass(told);
  return out;
}

/// It is not there any more, and what was there before it becomes the current one, if it was that.
Result<Removed> BucketStore::remove_version(BucketIndex& index, const BucketRow& bucket, const RemoveObject& object,
                                            const std::string& version) {
  const std::string& key = object.name.key;
  Removed out{.version = version};
  auto current = index.object(bucket.number, key);
  if (!current) return pass(current);
  std::optional<ObjectRow> row = std::move(*current);
  const bool is_current = row && row->object.version == version;
  if (!is_current) {
    auto old = index.old_version(bucket.number, key, version);
    if (!old) return pass(old);
    row = std::move(*old);
  }
  if (!row) return out;
  out.was_there = true;
  out.is_marker = row->object.is_marker;
  if (auto gone = let_go(index, row->places); !gone) return pass(gone);
  auto removed = is_current ? index.remove_object(bucket.number, key)
                            : index.remove_old_version(bucket.number, key, row->object.sequence);
  if (!removed) return pass(removed);
  auto sequence = take_sequence(index);
  if (!sequence) return pass(sequence);
  const StoredObject gone{.key = key, .version = version, .sequence = *sequence};
  if (auto told = tell(index, bucket, gone, "ObjectRemoved:Delete", object.cause); !told) return pass(told);
  auto left = index.object(bucket.number, key);
  if (!left) return pass(left);
  if (left->has_value()) return out;
  auto newest = index.newest_old_version(bucket.number, key);
  if (!newest) return pass(newest);
  const std::optional<ObjectRow>& next = *newest;
  if (!next || next->object.is_marker) return out;
  if (auto put = index.put_object(bucket.number, *next); !put) return pass(put);
  if (auto moved = index.remove_old_version(bucket.number, key, next->object.sequence); !moved) return pass(moved);
  return out;
}

void BucketStore::set_tags(ObjectName name, std::string tags, BucketAnswered<StoredObject> answered) {
  amend(std::move(name), [tags = std::move(tags)](StoredObject& object) { object.tags = tags; }, std::move(answered));
}

void BucketStore::set_header(ObjectName name, std::string header, std::optional<std::string> value,
                             BucketAnswered<StoredObject> answered) {
  amend(
      std::move(name),
      [header = std::move(header), value = std::move(value)](StoredObject& object) {
        std::erase_if(object.headers, [&](const auto& it) { return it.first == header; });
        if (value) object.headers.emplace_back(header, *value);
      },
      std::move(answered));
}

void BucketStore::amend(ObjectName name, std::function<void(StoredObject&)> how,
                        BucketAnswered<StoredObject> answered) {
  change<StoredObject>(
      [name = std::move(name), how = std::move(how)](BucketIndex& index) -> Result<BucketResult<StoredObject>> {
        auto bucket = found_bucket(index, name.bucket);
        if (!bucket) return refused<StoredObject>(std::move(bucket.error()));
        auto found = found_object(index, bucket->number, name);
        if (!found) return refused<StoredObject>(std::move(found.error()));
        how(found->object);
        auto current = index.object(bucket->number, name.key);
        if (!current) return pass(current);
        const bool is_current = *current && (*current)->object.sequence == found->object.sequence;
        auto done =
            is_current ? index.put_object(bucket->number, *found) : index.add_old_version(bucket->number, *found);
        if (!done) return pass(done);
        return BucketResult<StoredObject>(std::move(found->object));
      },
      std::move(answered));
}

}  // namespace drover
