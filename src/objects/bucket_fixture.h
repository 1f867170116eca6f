// For tests of the store: a client who waits for each answer, and a folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "objects/bucket_store.h"

namespace drover {

inline constexpr std::size_t kLarge = 3 * BucketStore::kMostSmallBytes;

inline std::string bytes_of(std::uint64_t seed, std::size_t size) {
  Random random(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random.next());
  return out;
}

inline std::string content_of(ObjectContent& content) {
  std::string out = content.bytes;
  for (ObjectContent::Piece& piece : content.pieces) {
    auto file = piece.open();
    if (!file) return concat("(", file.error().message, ")");
    std::string read(piece.size, '\0');
    EXPECT_EQ(::pread(file->get(), read.data(), read.size(), static_cast<off_t>(piece.offset)),
              static_cast<ssize_t>(piece.size));
    out += read;
  }
  return out;
}

/// One who waits for each answer.
class Client {
 public:
  explicit Client(BucketStore& store) : store_(store) {}

  BucketResult<void> create(const std::string& name) {
    return wait<void>([&](auto answered) {
      store_.create_bucket({.name = name, .region = "here", .owner = "me"}, std::move(answered));
    });
  }
  BucketResult<void> drop(const std::string& name) {
    return wait<void>([&](auto answered) { store_.delete_bucket(name, std::move(answered)); });
  }
  std::unique_ptr<NewData> data(std::string_view bytes, Placement placement = Placement::anywhere) {
    auto out = store_.begin_data(placement);
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 10'000))) {
      EXPECT_TRUE(out->add(bytes.substr(0, 10'000)));
    }
    EXPECT_TRUE(out->finish());
    return out;
  }
  BucketResult<StoredObject> put(PutObject object, std::string_view bytes) {
    auto finished = data(bytes);
    return wait<StoredObject>(
        [&](auto answered) { store_.put(std::move(object), std::move(finished), std::move(answered)); });
  }
  BucketResult<Removed> remove(const std::string& bucket, const std::string& key,
                               std::optional<std::string> version = {}) {
    return wait<Removed>([&](auto answered) {
      store_.remove({.name = {bucket, key, std::move(version)}, .cause = {"who", "peer", "request"}},
                    std::move(answered));
    });
  }
  std::string get(const std::string& bucket, const std::string& key, std::optional<std::string> version = {}) {
    auto content = store_.open({bucket, key, std::move(version)});
    return content ? content_of(*content) : concat("(", content.error().error.message, ")");
  }
  BucketResult<void> set_versioning(const std::string& bucket, Versioning versioning) {
    return wait<void>([&](auto answered) { store_.set_versioning(bucket, versioning, std::move(answered)); });
  }
  BucketResult<void> set_rules(const std::string& bucket, std::vector<EventRule> rules) {
    return wait<void>([&](auto answered) {
      store_.set_event_rules(bucket, std::move(rules), {"who", "peer", "request"}, std::move(answered));
    });
  }
  BucketResult<void> forget_events(std::uint64_t up_to) {
    return wait<void>([&](auto answered) { store_.forget_events(up_to, std::move(answered)); });
  }
  BucketResult<StoredObject> copy(const CopySource& source, PutObject object) {
    return wait<StoredObject>([&](auto answered) { store_.copy(source, std::move(object), std::move(answered)); });
  }
  BucketResult<StoredObject> tag(const ObjectName& name, const std::string& tags) {
    return wait<StoredObject>([&](auto answered) { store_.set_tags(name, tags, std::move(answered)); });
  }
  std::string begin(const std::string& bucket, const std::string& key) {
    auto id = wait<std::string>([&](auto answered) {
      store_.begin_upload({.bucket = bucket, .key = key, .headers = {{"content-type", "x/y"}}}, std::move(answered));
    });
    EXPECT_TRUE(id);
    return id.value_or("");
  }
  BucketResult<StoredPart> part(const UploadName& upload, std::uint32_t number, std::string_view bytes) {
    auto finished = data(bytes, Placement::file);
    return wait<StoredPart>([&](auto answered) {
      store_.put_part(upload, {.number = number, .etag = concat("e", number)}, std::move(finished),
                      std::move(answered));
    });
  }
  BucketResult<StoredPart> part_of(const UploadName& upload, std::uint32_t number, const CopySource& source) {
    return wait<StoredPart>([&](auto answered) {
      store_.copy_part(upload, {.number = number, .etag = concat("e", number)}, source, std::move(answered));
    });
  }
  BucketResult<void> abort(const UploadName& upload) {
    return wait<void>([&](auto answered) { store_.abort_upload(upload, std::move(answered)); });
  }
  BucketResult<StoredObject> complete(const UploadName& upload, const std::vector<std::uint32_t>& numbers) {
    CompleteUpload command{.upload = upload, .parts = {}, .object = {.bucket = upload.bucket, .key = upload.key}};
    command.object.etag = "whole";
    command.object.event = "ObjectCreated:CompleteMultipartUpload";
    for (const std::uint32_t it : numbers) command.parts.emplace_back(it, concat("e", it));
    return wait<StoredObject>([&](auto answered) { store_.complete_upload(std::move(command), std::move(answered)); });
  }

 private:
  template <class T>
  BucketResult<T> wait(const std::function<void(BucketAnswered<T>)>& ask) {
    std::promise<BucketResult<T>> promise;
    auto answered = promise.get_future();
    ask([&](BucketResult<T> outcome) { promise.set_value(std::move(outcome)); });
    return answered.get();
  }

  BucketStore& store_;
};

class BucketStoreTest : public testing::Test {
 protected:
  BucketStoreTest() { std::filesystem::create_directories(folder_); }
  ~BucketStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open() {
    store_.reset();
    auto opened = BucketStore::open(folder_, {.now_ms = [this] { return now_ms_.load(); },
                                              .has_room = [this](std::uint64_t) -> Result<void> {
                                                if (rooms_-- > 0) return {};
                                                return fail(ErrorCode::no_space, "there is no room");
                                              },
                                              .on_events = [this] { ++events_told_; },
                                              .uploads_kept_ms = kUploadsKeptMs});
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  Client client() { return Client(*store_); }

  std::vector<std::string> data_files() const {
    std::vector<std::string> out;
    for (const auto& it : std::filesystem::recursive_directory_iterator(folder_)) {
      if (it.is_regular_file() && !it.path().filename().string().starts_with("index.db")) out.push_back(it.path());
    }
    return out;
  }
  /// Files are removed soon.
  void expect_files(std::size_t count) const {
    for (int i = 0; i < 1000 && data_files().size() != count; ++i) ::usleep(10'000);
    EXPECT_EQ(data_files().size(), count);
  }

  static constexpr std::int64_t kUploadsKeptMs = 1'000'000;
  const std::string folder_ = concat(std::filesystem::temp_directory_path().string(), "/drover-buckets-", ::getpid());
  std::atomic<int> events_told_ = 0;
  std::atomic<std::int64_t> now_ms_ = 1'700'000'000'000;
  int rooms_ = 1'000'000;  // so often there is still some
  std::unique_ptr<BucketStore> store_;
};

}  // namespace drover
