// What is read from the store: each question with a connection of its own, beside the thread that writes.
#include "objects/bucket_lookup.h"
#include "objects/bucket_store.h"

namespace drover {
namespace {

/// An object that is replaced again and again while it is opened.
constexpr int kMostLooks = 20;

/// What was found, or why it was not.
template <class T>
BucketResult<T> answer(Result<T> found) {
  if (!found) return trouble(std::move(found.error()));
  return std::move(*found);
}

/// The bytes are gone since the row was read: then there is another object, or none.
bool was_replaced(const Error& error) {
  return error.code == ErrorCode::not_found;
}

}  // namespace

Result<std::vector<Bucket>> BucketStore::list_buckets() {
  auto rows =
      read<std::vector<BucketRow>>([](BucketIndex& index) { return answer<std::vector<BucketRow>>(index.buckets()); });
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

BucketResult<std::optional<std::string>> BucketStore::setting(const std::string& bucket, const std::string& kind) {
  using Text = std::optional<std::string>;
  return read<Text>([&](BucketIndex& index) -> BucketResult<Text> {
    auto found = found_bucket(index, bucket);
    if (!found) return std::unexpected(std::move(found.error()));
    return answer<Text>(index.setting(found->number, kind));
  });
}

BucketResult<std::vector<EventRule>> BucketStore::event_rules(const std::string& bucket) {
  using Rules = std::vector<EventRule>;
  return read<Rules>([&](BucketIndex& index) -> BucketResult<Rules> {
    auto found = found_bucket(index, bucket);
    if (!found) return std::unexpected(std::move(found.error()));
    return answer<Rules>(index.event_rules(found->number));
  });
}

BucketResult<StoredObject> BucketStore::head(const ObjectName& name) {
  return read<StoredObject>([&](BucketIndex& index) -> BucketResult<StoredObject> {
    auto found = found_object(index, name);
    if (!found) return std::unexpected(std::move(found.error()));
    return std::move(found->object);
  });
}

BucketResult<ObjectContent> BucketStore::open(const ObjectName& name) {
  return read<ObjectContent>([&](BucketIndex& index) -> BucketResult<ObjectContent> {
    for (int looks = 1;; ++looks) {
      auto found = found_object(index, name);
      if (!found) return std::unexpected(std::move(found.error()));
      auto content = open_row(index, std::move(*found), name);
      if (content && content->has_value()) return std::move(**content);
      const bool goes_on = content ? true : was_replaced(content.error());
      if (!goes_on) return trouble(std::move(content.error()));
      if (looks < kMostLooks) continue;
      const std::string why = content ? "it is replaced again and again" : content.error().message;
      return trouble({ErrorCode::damaged, concat("the object '", name.key, "' cannot be read: ", why), ""});
    }
  });
}

// One file is open before anybody can remove it. Of several, none is removed once it is pinned and still named.
Result<std::optional<ObjectContent>> BucketStore::open_row(BucketIndex& index, ObjectRow row, const ObjectName& name) {
  const std::vector<DataPlace> places = std::move(row.places);
  ObjectContent out{.object = std::move(row.object), .bytes = {}, .pieces = {}};
  if (places.empty()) return out;
  if (places.size() == 1 && !places[0].is_file) {
    auto bytes = index.small_data(places[0].number);
    if (!bytes) return pass(bytes);
    out.bytes = std::move(*bytes);
    return out;
  }
  if (places.size() == 1) {
    auto file = files_.read(places[0].number);
    if (!file) return pass(file);
    auto& piece = out.pieces.emplace_back(places[0].size, places[0].offset);
    piece.open = [file = std::move(*file)]() mutable -> Result<Descriptor> { return std::move(file); };
    return out;
  }
  std::vector<std::uint64_t> numbers;
  numbers.reserve(places.size());
  for (const DataPlace& it : places) numbers.push_back(it.number);
  const std::shared_ptr<void> pin = pins_->pin(std::move(numbers));
  const auto again = found_object(index, name);
  if (!again || again->object.sequence != out.object.sequence) return std::nullopt;
  for (const DataPlace& it : places) {
    auto& piece = out.pieces.emplace_back(it.size, it.offset);
    piece.open = [pin, files = files_, number = it.number] { return files.read(number); };
  }
  return out;
}

BucketResult<ObjectPage> BucketStore::list(const std::string& bucket, const ObjectQuestion& question) {
  return read<ObjectPage>([&](BucketIndex& index) -> BucketResult<ObjectPage> {
    auto found = found_bucket(index, bucket);
    if (!found) return std::unexpected(std::move(found.error()));
    return answer<ObjectPage>(index.list(found->number, question));
  });
}

BucketResult<VersionPage> BucketStore::list_versions(const std::string& bucket, const ObjectQuestion& question) {
  return read<VersionPage>([&](BucketIndex& index) -> BucketResult<VersionPage> {
    auto found = found_bucket(index, bucket);
    if (!found) return std::unexpected(std::move(found.error()));
    return answer<VersionPage>(index.list_versions(found->number, question));
  });
}

BucketResult<Upload> BucketStore::upload(const UploadName& name) {
  return read<Upload>([&](BucketIndex& index) -> BucketResult<Upload> {
    auto found = found_upload(index, name);
    if (!found) return std::unexpected(std::move(found.error()));
    return std::move(found->upload);
  });
}

BucketResult<std::vector<StoredPart>> BucketStore::parts(const UploadName& name, std::uint32_t after,
                                                         std::uint64_t most) {
  using Parts = std::vector<StoredPart>;
  return read<Parts>([&](BucketIndex& index) -> BucketResult<Parts> {
    auto found = found_upload(index, name);
    if (!found) return std::unexpected(std::move(found.error()));
    auto rows = index.parts(found->number, after, most);
    if (!rows) return trouble(std::move(rows.error()));
    Parts out;
    out.reserve(rows->size());
    for (PartRow& it : *rows) out.push_back(std::move(it.part));
    return out;
  });
}

BucketResult<UploadPage> BucketStore::list_uploads(const std::string& bucket, const UploadQuestion& question) {
  return read<UploadPage>([&](BucketIndex& index) -> BucketResult<UploadPage> {
    auto found = found_bucket(index, bucket);
    if (!found) return std::unexpected(std::move(found.error()));
    return answer<UploadPage>(index.list_uploads(found->number, question));
  });
}

Result<std::vector<ObjectEvent>> BucketStore::events(std::uint64_t after, std::uint64_t most) {
  using Events = std::vector<ObjectEvent>;
  auto found = read<Events>([&](BucketIndex& index) { return answer<Events>(index.events(after, most)); });
  if (!found) return std::unexpected(std::move(found.error().error));
  return std::move(*found);
}

}  // namespace drover
