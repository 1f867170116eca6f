// Objects of a bucket that somebody else keeps and serves by S3's protocol: Amazon, another Drover, MinIO.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/url.h"
#include "ports/http_client.h"
#include "ports/objects.h"

namespace drover {

/// Who asks. An empty id: requests are not signed.
struct S3Credentials {
  std::string id;
  std::string secret;
  std::string token = {};
};

class S3Store final : public ObjectStore {
 public:
  struct Place {
    std::string endpoint;  // "https://s3.eu-west-1.amazonaws.com"
    std::string region;
    std::string bucket;  // empty: only list_buckets() can be called
  };
  struct Outside {
    std::unique_ptr<HttpClient> http;  // of the endpoint
    /// Those to be used now. `refused`: the store did not take the last ones.
    std::function<Result<S3Credentials>(bool refused)> credentials;
    std::function<std::int64_t()> now_ms;
    std::function<void(std::int64_t ms)> sleep;
  };
  /// A larger object is sent in parts.
  static constexpr std::uint64_t kPart = std::uint64_t{16} << 20;

  S3Store(Place place, Outside outside) : place_(std::move(place)), outside_(std::move(outside)) {}

  std::string name() const override;
  Result<ObjectInfo> head(const std::string& key) override;
  Result<ObjectInfo> get(const std::string& key, const ObjectRange& range,
                         const std::function<Result<void>(std::string_view)>& take) override;
  Result<ListPage> list(const ListQuestion& question) override;
  Result<ObjectInfo> put(const ObjectInfo& object, const ObjectBytes& bytes) override;
  Result<void> remove(const std::string& key) override;
  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override;
  Result<std::string> begin_upload(const ObjectInfo& object) override;
  Result<UploadedPart> upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                   const std::string& bytes) override;
  Result<ObjectInfo> complete_upload(const std::string& key, const std::string& upload,
                                     const std::vector<UploadedPart>& parts) override;
  Result<void> abort_upload(const std::string& key, const std::string& upload) override;

  void abort() override { outside_.http->abort(); }

  struct Bucket {
    std::string name;
    std::int64_t created_ms = 0;
  };
  /// Those of the account; only of a store whose place has no bucket.
  Result<std::vector<Bucket>> list_buckets();
  /// Of the bucket itself.
  Result<void> create_bucket();
  Result<void> delete_bucket();

 private:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Ask {
    std::string method = "GET";
    std::string key = {};  // empty: the bucket
    QueryPairs query = {};
    Headers headers = {};
    std::string body = {};
    std::function<Result<void>(std::string_view)> take = {};
  };
  /// An answer of 2xx; anything else is an error, after as many tries as are worth it.
  Result<HttpResponse> ask(const Ask& ask);
  Result<HttpResponse> ask_once(const Ask& ask, bool was_refused);
  Result<ObjectInfo> put_whole(const ObjectInfo& object, const std::string& bytes);
  Result<ObjectInfo> put_parts(const ObjectInfo& object, const ObjectBytes& bytes);
  /// All that was not taken yet, in one answer. `info`: what the first answer said.
  Result<void> get_rest(const ObjectInfo& info, const ObjectRange& range, std::uint64_t& taken,
                        const std::function<Result<void>(std::string_view)>& take);
  std::string path_of(const std::string& key) const;

  const Place place_;
  Outside outside_;
};

}  // namespace drover
