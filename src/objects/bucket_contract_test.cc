// Our own buckets, held to what every store of objects does.
#include <algorithm>

#include "objects/bucket_fixture.h"
#include "objects/object_contract.h"
#include "wire/digest.h"

namespace drover {
namespace {

/// One bucket, as a store of objects.
class BucketAsStore : public ObjectStore {
 public:
  BucketAsStore(BucketStore& store, std::string bucket) : store_(store), client_(store), bucket_(std::move(bucket)) {}

  std::string name() const override { return concat("bucket ", bucket_); }

  Result<ObjectInfo> head(const std::string& key) override { return info(store_.head({bucket_, key, {}})); }

  Result<ObjectInfo> get(const std::string& key, const ObjectRange& range,
                         const std::function<Result<void>(std::string_view)>& take) override {
    auto content = store_.open({bucket_, key, {}});
    if (!content) return refused(content.error());
    const std::string bytes = content_of(*content);
    if (range.offset > bytes.size()) return fail(ErrorCode::bad_input, "more were asked for than there are");
    const std::string_view wanted =
        std::string_view(bytes).substr(range.offset, range.size.value_or(std::string::npos));
    if (auto taken = take(wanted); !taken) return pass(taken);
    return info(std::move(content->object));
  }

  Result<ListPage> list(const ListQuestion& question) override {
    auto page = store_.list(
        bucket_,
        {.prefix = question.prefix, .delimiter = question.delimiter, .after = question.after, .most = question.most});
    if (!page) return refused(page.error());
    ListPage out{.objects = {}, .prefixes = std::move(page->prefixes), .next = page->is_cut ? page->last : ""};
    for (const StoredObject& it : page->objects) out.objects.push_back(*info(it));
    return out;
  }

  Result<ObjectInfo> put(const ObjectInfo& object, const ObjectBytes& bytes) override {
    auto all = bytes.read(0, bytes.size);
    if (!all) return pass(all);
    return info(client_.put({.bucket = bucket_, .key = object.key, .etag = hex(sha256(*all))}, *all));
  }

  Result<void> remove(const std::string& key) override {
    auto removed = client_.remove(bucket_, key);
    if (!removed) return refused(removed.error());
    return {};
  }

  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override {
    const auto source = store_.head({bucket_, from, {}});
    if (!source) return refused(source.error());
    return info(client_.copy({.name = {bucket_, from, {}}, .sequence = source->sequence},
                             {.bucket = bucket_, .key = to, .etag = source->etag}));
  }

  Result<std::string> begin_upload(const ObjectInfo& object) override { return client_.begin(bucket_, object.key); }

  Result<UploadedPart> upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                   const std::string& bytes) override {
    auto part = client_.part({bucket_, key, upload}, number, bytes);
    if (!part) return refused(part.error());
    return UploadedPart{number, part->etag};
  }

  Result<ObjectInfo> complete_upload(const std::string& key, const std::string& upload,
                                     const std::vector<UploadedPart>& parts) override {
    std::vector<std::uint32_t> numbers;
    for (const UploadedPart& it : parts) numbers.push_back(it.number);
    return info(client_.complete({bucket_, key, upload}, numbers));
  }

  Result<void> abort_upload(const std::string& key, const std::string& upload) override {
    auto aborted = client_.abort({bucket_, key, upload});
    if (!aborted) return refused(aborted.error());
    return {};
  }

 private:
  static std::unexpected<Error> refused(const BucketError& error) {
    if (error.fault == BucketFault::trouble) return std::unexpected(error.error);
    return fail(error.fault == BucketFault::no_such_key ? ErrorCode::not_found : ErrorCode::conflict,
                concat("the bucket refused it: ", static_cast<int>(error.fault)));
  }
  static Result<ObjectInfo> info(const BucketResult<StoredObject>& object) {
    if (!object) return refused(object.error());
    return ObjectInfo{
        .key = object->key, .size = object->size, .modified_ms = object->modified_ms, .etag = object->etag};
  }

  BucketStore& store_;
  Client client_;
  const std::string bucket_;
};

TEST_F(BucketStoreTest, ABucketDoesWhatEveryStoreOfObjectsDoes) {
  open();
  ASSERT_TRUE(client().create("b"));
  BucketAsStore store(*store_, "b");
  expect_contract(store);
}

}  // namespace
}  // namespace drover
