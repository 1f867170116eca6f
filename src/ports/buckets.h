// Buckets and objects that the server keeps itself. What reads waits for disks; what changes something is answered
// when it is durable, on a thread of the store's own, where nothing may wait. objects/ has the adapter.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ports/descriptor.h"

namespace drover {

/// Why something cannot be done with a bucket or an object.
enum class BucketFault : std::uint8_t {
  no_such_bucket,
  bucket_exists,
  bucket_not_empty,
  no_such_key,
  precondition_failed,
  trouble,  // with the disk: the error says more
};

struct BucketError {
  BucketFault fault = BucketFault::trouble;
  Error error;
};

template <class T>
using BucketResult = std::expected<T, BucketError>;
template <class T>
using BucketAnswered = std::move_only_function<void(BucketResult<T>)>;

struct Bucket {
  std::string name;
  std::string region;
  std::string owner;  // the key that created it
  std::int64_t created_ms = 0;

  bool operator==(const Bucket&) const = default;
};

/// Names in small letters: "content-type", "x-amz-meta-camera".
using ObjectHeaders = std::vector<std::pair<std::string, std::string>>;

struct StoredObject {
  std::string key;
  std::uint64_t size = 0;
  std::int64_t modified_ms = 0;
  std::string etag;  // without quotes
  ObjectHeaders headers = {};

  bool operator==(const StoredObject&) const = default;
};

/// An object and its bytes: a file stays readable for as long as its descriptor is open, whatever happens to the
/// object.
struct ObjectContent {
  struct Piece {
    Descriptor file;    // none: `bytes` has all of it
    std::string bytes;  // of a small one
    std::uint64_t size = 0;
  };
  StoredObject object;
  std::vector<Piece> pieces;  // one after another
};

/// A page of a bucket, in the order of the keys' bytes.
struct ObjectQuestion {
  std::string prefix = {};
  std::string delimiter = {};  // keys that have it behind the prefix are shown as one prefix, up to its end
  std::string after = {};      // only what comes behind this key or prefix
  std::uint64_t most = 1000;   // objects and prefixes together
};
struct ObjectPage {
  std::vector<StoredObject> objects;  // without their headers
  std::vector<std::string> prefixes;
  bool is_cut = false;
  std::string last;  // of a page that is cut: `after` of the next one
};

/// Bytes on their way into the store, of which nobody knows before they are put. What is dropped leaves nothing behind.
class NewData {
 public:
  virtual ~NewData() = default;
  virtual Result<void> add(std::string_view bytes) = 0;
  /// They are durable.
  virtual Result<void> finish() = 0;
  virtual std::uint64_t size() const = 0;
};

struct PutObject {
  std::string bucket;
  std::string key;
  std::string etag;
  ObjectHeaders headers = {};
  bool only_if_new = false;                      // no object may be there
  std::optional<std::string> only_if_etag = {};  // the one that is there must have this ETag
};

class Buckets {
 public:
  virtual ~Buckets() = default;

  virtual Result<std::vector<Bucket>> list_buckets() = 0;
  virtual BucketResult<Bucket> bucket(const std::string& name) = 0;
  virtual BucketResult<StoredObject> head(const std::string& bucket, const std::string& key) = 0;
  virtual BucketResult<ObjectContent> open(const std::string& bucket, const std::string& key) = 0;
  virtual BucketResult<ObjectPage> list(const std::string& bucket, const ObjectQuestion& question) = 0;

  virtual void create_bucket(Bucket bucket, BucketAnswered<void> answered) = 0;
  virtual void delete_bucket(std::string name, BucketAnswered<void> answered) = 0;
  /// Waits for disks, and so do the calls of what it gives.
  virtual Result<std::unique_ptr<NewData>> begin_data() = 0;
  /// `data` is finished, and of this store.
  virtual void put(PutObject object, std::unique_ptr<NewData> data, BucketAnswered<StoredObject> answered) = 0;
  /// True: there was one.
  virtual void remove(std::string bucket, std::string key, BucketAnswered<bool> answered) = 0;
};

}  // namespace drover
