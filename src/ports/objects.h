// Objects wherever they are: in a bucket, in a folder, on a site. What a user names by a URI is read and written
// through this. objects/ has the adapters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace drover {

struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
  std::int64_t modified_ms = 0;
  std::string etag;                                                // as the store has it; empty: it has none
  std::string type = {};                                           // "image/png"; empty: unknown
  std::vector<std::pair<std::string, std::string>> metadata = {};  // of the user's own
  std::string checksum = {};  // of all of its bytes: "sha256:HEX", "crc32c:HEX", "md5:HEX"; empty: the store says none

  bool operator==(const ObjectInfo&) const = default;
};

struct ObjectRange {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size = {};  // nothing: to the end
};

/// Bytes that may be asked for more than once, as what is sent may have to be sent again.
struct ObjectBytes {
  std::uint64_t size = 0;
  /// So many from the offset on, all of them there. Waits for disks.
  std::function<Result<std::string>(std::uint64_t offset, std::uint64_t size)> read;
};

struct ListQuestion {
  std::string prefix = {};
  std::string delimiter = {};
  std::string after = {};  // `next` of the page before
  std::uint64_t most = 1000;
};
struct ListPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;
  std::string next;  // empty: there are no more
};

/// A part that has come, of an upload in parts.
struct UploadedPart {
  std::uint32_t number = 0;
  std::string etag;
};

/// One bucket, folder or site. Calls wait; one thread at a time makes them. Failures that may pass are tried again
/// before they are told. Errors: `not_found`, `denied`, `conflict`, `unreachable`, `damaged` when bytes are not what
/// they should be, `unsupported` for what a store cannot do.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// "s3://bucket", "file:///data", "https://host".
  virtual std::string name() const = 0;

  virtual Result<ObjectInfo> head(const std::string& key) = 0;
  /// Gives the bytes to `take` as they come, each once and in their order; compared with the store's checksum where all
  /// of an object is got and there is one. After an error what was taken is worth nothing.
  virtual Result<ObjectInfo> get(const std::string& key, const ObjectRange& range,
                                 const std::function<Result<void>(std::string_view)>& take) = 0;
  virtual Result<ListPage> list(const ListQuestion& question) = 0;

  /// There when it returns, as a whole, and what was there before is replaced.
  virtual Result<ObjectInfo> put(const ObjectInfo& object, const ObjectBytes& bytes) = 0;
  /// One that is not there is fine.
  virtual Result<void> remove(const std::string& key) = 0;
  /// Within the store.
  virtual Result<ObjectInfo> copy(const std::string& from, const std::string& to) = 0;

  // In parts, which several may send at once, each with a store of its own.
  virtual Result<std::string> begin_upload(const ObjectInfo& object) = 0;
  virtual Result<UploadedPart> upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                           const std::string& bytes) = 0;
  virtual Result<ObjectInfo> complete_upload(const std::string& key, const std::string& upload,
                                             const std::vector<UploadedPart>& parts) = 0;
  virtual Result<void> abort_upload(const std::string& key, const std::string& upload) = 0;

  /// From any thread: a call under way and all later ones end with an error, within seconds.
  virtual void abort() {}
};

}  // namespace drover
