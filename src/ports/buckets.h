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
  no_such_version,
  is_marker,  // the version that was asked for says that the object was deleted
  no_such_upload,
  no_such_part,     // or not with that ETag
  too_many_pieces,  // an object that would be made of very many
  source_changed,   // since it was looked at
  precondition_failed,
  trouble,  // with the disk: the error says more
};

struct BucketError {
  BucketFault fault = BucketFault::trouble;
  Error error;
  std::string marker = {};  // the version of the delete marker that stands where the object was
};

template <class T>
using BucketResult = std::expected<T, BucketError>;
template <class T>
using BucketAnswered = std::move_only_function<void(BucketResult<T>)>;

/// Whether what is replaced or deleted stays as an older version.
enum class Versioning : std::uint8_t { never, enabled, suspended };

struct Bucket {
  std::string name;
  std::string region;
  std::string owner;  // the key that created it
  std::int64_t created_ms = 0;
  Versioning versioning = Versioning::never;

  bool operator==(const Bucket&) const = default;
};

/// Names in small letters: "content-type", "x-amz-meta-camera".
using ObjectHeaders = std::vector<std::pair<std::string, std::string>>;

/// What a version is called that was put while the bucket kept none.
inline constexpr std::string_view kNullVersion = "null";

struct StoredObject {
  std::string key;
  std::uint64_t size = 0;
  std::int64_t modified_ms = 0;
  std::string etag;  // without quotes
  ObjectHeaders headers = {};
  std::string storage_class = {};  // empty: the usual one
  std::string tags = {};           // "team=a&stage=raw", escaped as in a query
  std::string version = std::string(kNullVersion);
  std::uint64_t sequence = 0;                  // rises with every change of the store
  std::vector<std::uint64_t> part_sizes = {};  // of one that was uploaded in parts
  bool is_marker = false;                      // it says that the object was deleted

  bool operator==(const StoredObject&) const = default;
};

struct ObjectName {
  std::string bucket;
  std::string key;
  std::optional<std::string> version = {};  // nothing: whichever is the current one
};

/// An object and its bytes, which stay readable for as long as this lives, whatever happens to the object.
struct ObjectContent {
  struct Piece {
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // in its file
    /// Waits for disks. One call.
    std::move_only_function<Result<Descriptor>()> open = {};
  };
  StoredObject object;
  std::string bytes;          // of a small one, all of them
  std::vector<Piece> pieces;  // of others, one behind another
};

/// A page of a bucket, in the order of the keys' bytes.
struct ObjectQuestion {
  std::string prefix = {};
  std::string delimiter = {};  // keys that have it behind the prefix are shown as one prefix, up to its end
  std::string after = {};      // only what comes behind this key or prefix
  std::uint64_t most = 1000;   // objects and prefixes together
  /// Of versions: those of the key `after` with a lower sequence than this come, too.
  std::uint64_t after_sequence = 0;
};
struct ObjectPage {
  std::vector<StoredObject> objects;  // without their headers
  std::vector<std::string> prefixes;
  bool is_cut = false;
  std::string last;  // of a page that is cut: `after` of the next one
};
struct VersionPage {
  std::vector<std::pair<StoredObject, bool>> versions;  // the newest of a key first; true: it is the current one
  std::vector<std::string> prefixes;
  bool is_cut = false;
  std::string last_key;  // of a page that is cut
  std::uint64_t last_sequence = 0;
};

/// Where bytes may be kept.
enum class Placement : std::uint8_t {
  anywhere,
  file,  // never in the index: those of objects that consist of several
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

/// Who caused an event, for those who read it.
struct EventCause {
  std::string who;      // the key
  std::string peer;     // its address
  std::string request;  // the request's id
};

/// What becomes an object, but for its bytes.
struct PutObject {
  std::string bucket;
  std::string key;
  std::string etag;
  ObjectHeaders headers = {};
  std::string storage_class = {};
  std::string tags = {};
  bool only_if_new = false;                      // no object may be there
  std::optional<std::string> only_if_etag = {};  // the one that is there must have this ETag
  EventCause cause = {};
  std::string event = "ObjectCreated:Put";
};

/// What an object's bytes are taken from: another one, or a part of it.
struct CopySource {
  ObjectName name;
  std::uint64_t sequence = 0;  // as it was when it was looked at
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size = {};  // nothing: to its end
};

struct RemoveObject {
  ObjectName name;
  std::optional<std::string> only_if_etag = {};
  EventCause cause = {};
};
struct Removed {
  bool was_there = false;
  std::string version = {};  // that was removed, or made; empty: the bucket keeps none
  bool is_marker = false;    // that one is a delete marker
};

struct NewUpload {
  std::string bucket;
  std::string key;
  ObjectHeaders headers = {};
  std::string storage_class = {};
  std::string tags = {};
  std::string owner = {};
};
struct Upload {
  std::string id;
  std::int64_t begun_ms = 0;
  NewUpload object;
};
struct UploadName {
  std::string bucket;
  std::string key;
  std::string id;
};
struct StoredPart {
  std::uint32_t number = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ms = 0;
  std::string etag;
  ObjectHeaders headers = {};  // its checksums
};
struct UploadPage {
  std::vector<Upload> uploads;  // by key, then by age, without headers
  std::vector<std::string> prefixes;
  bool is_cut = false;
  std::string last_key;
  std::string last_id;
};
struct UploadQuestion {
  std::string prefix = {};
  std::string delimiter = {};
  std::string after = {};     // only keys behind this one
  std::string after_id = {};  // and those of that key that were begun after this upload
  std::uint64_t most = 1000;
};
struct CompleteUpload {
  UploadName upload;
  std::vector<std::pair<std::uint32_t, std::string>> parts;  // number and ETag, in the order of the numbers
  PutObject object;
};

/// Where events of a bucket go.
struct EventRule {
  std::string id;
  std::string stream;
  std::string target;               // as it was named: an ARN
  std::vector<std::string> events;  // "s3:ObjectCreated:*"
  std::string prefix = {};
  std::string suffix = {};

  bool operator==(const EventRule&) const = default;
};
/// Something that happened to an object and is to be told to a stream.
struct ObjectEvent {
  std::uint64_t number = 0;  // rises
  std::string stream;
  std::string rule;
  std::string event;  // "ObjectCreated:Put"; "TestEvent" when the rule was set
  std::string bucket;
  std::string region;
  std::string owner;  // of the bucket
  std::string key;
  std::uint64_t size = 0;
  std::string etag;
  std::string version;  // empty: the bucket keeps none
  std::uint64_t sequence = 0;
  std::int64_t time_ms = 0;
  EventCause cause;
};

class Buckets {
 public:
  virtual ~Buckets() = default;

  virtual Result<std::vector<Bucket>> list_buckets() = 0;
  virtual BucketResult<Bucket> bucket(const std::string& name) = 0;
  /// A document that was kept with the bucket: "policy", "cors". Nothing: it was not set.
  virtual BucketResult<std::optional<std::string>> setting(const std::string& bucket, const std::string& kind) = 0;
  virtual BucketResult<std::vector<EventRule>> event_rules(const std::string& bucket) = 0;
  virtual BucketResult<StoredObject> head(const ObjectName& name) = 0;
  virtual BucketResult<ObjectContent> open(const ObjectName& name) = 0;
  virtual BucketResult<ObjectPage> list(const std::string& bucket, const ObjectQuestion& question) = 0;
  virtual BucketResult<VersionPage> list_versions(const std::string& bucket, const ObjectQuestion& question) = 0;
  virtual BucketResult<Upload> upload(const UploadName& name) = 0;
  /// The parts behind this number, so many at most.
  virtual BucketResult<std::vector<StoredPart>> parts(const UploadName& name, std::uint32_t after,
                                                      std::uint64_t most) = 0;
  virtual BucketResult<UploadPage> list_uploads(const std::string& bucket, const UploadQuestion& question) = 0;

  virtual void create_bucket(Bucket bucket, BucketAnswered<void> answered) = 0;
  virtual void delete_bucket(std::string name, BucketAnswered<void> answered) = 0;
  virtual void set_versioning(std::string bucket, Versioning versioning, BucketAnswered<void> answered) = 0;
  /// Nothing: it is not set any more.
  virtual void set_setting(std::string bucket, std::string kind, std::optional<std::string> text,
                           BucketAnswered<void> answered) = 0;
  /// Instead of those before. Each stream among them gets a test event.
  virtual void set_event_rules(std::string bucket, std::vector<EventRule> rules, EventCause cause,
                               BucketAnswered<void> answered) = 0;

  /// Waits for nothing; the calls of what it gives wait for disks.
  virtual std::unique_ptr<NewData> begin_data(Placement placement) = 0;
  /// `data` is finished, and of this store.
  virtual void put(PutObject object, std::unique_ptr<NewData> data, BucketAnswered<StoredObject> answered) = 0;
  /// Both have the same bytes from then on: nothing is copied.
  virtual void copy(CopySource source, PutObject object, BucketAnswered<StoredObject> answered) = 0;
  virtual void remove(RemoveObject object, BucketAnswered<Removed> answered) = 0;
  /// The version that has them now.
  virtual void set_tags(ObjectName name, std::string tags, BucketAnswered<StoredObject> answered) = 0;
  /// Sets one header, or takes it away.
  virtual void set_header(ObjectName name, std::string header, std::optional<std::string> value,
                          BucketAnswered<StoredObject> answered) = 0;

  /// Its id.
  virtual void begin_upload(NewUpload upload, BucketAnswered<std::string> answered) = 0;
  /// `data` is in a file.
  virtual void put_part(UploadName upload, StoredPart part, std::unique_ptr<NewData> data,
                        BucketAnswered<StoredPart> answered) = 0;
  /// Of a source that is not small: its bytes have files.
  virtual void copy_part(UploadName upload, StoredPart part, CopySource source,
                         BucketAnswered<StoredPart> answered) = 0;
  virtual void abort_upload(UploadName upload, BucketAnswered<void> answered) = 0;
  /// One that was completed before, into the object that is still there, is answered with that.
  virtual void complete_upload(CompleteUpload upload, BucketAnswered<StoredObject> answered) = 0;

  /// Those with higher numbers than this, in their order.
  virtual Result<std::vector<ObjectEvent>> events(std::uint64_t after, std::uint64_t most) = 0;
  /// These were told.
  virtual void forget_events(std::uint64_t up_to, BucketAnswered<void> answered) = 0;
  /// What numbers of events belong to: never the same for two stores.
  virtual std::uint64_t feed() const = 0;
};

}  // namespace drover
