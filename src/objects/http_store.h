// Objects of a web server, by plain HTTP: they can be read, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "ports/http_client.h"
#include "ports/objects.h"

namespace drover {

class HttpStore final : public ObjectStore {
 public:
  struct Outside {
    /// A client of a server: "https://host:port".
    std::function<Result<std::unique_ptr<HttpClient>>(const std::string& base)> http;
    std::function<void(std::int64_t ms)> sleep;
  };

  HttpStore(std::string base, Outside outside) : base_(std::move(base)), outside_(std::move(outside)) {}

  std::string name() const override { return base_; }
  /// Keys are paths with their query, escaped as in a URL. Redirections are followed, but not from https to http.
  Result<ObjectInfo> head(const std::string& key) override;
  /// A body that breaks off is resumed where the server says that it is the same still.
  Result<ObjectInfo> get(const std::string& key, const ObjectRange& range,
                         const std::function<Result<void>(std::string_view)>& take) override;

  // A web server has no list, and its objects cannot be changed.

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

  void abort() override;

 private:
  /// Where an object is, after redirections.
  struct Place {
    std::string base;
    std::string path;
  };
  Result<void> speak_to(const std::string& base);
  static Result<Place> redirected(const Place& from, std::string to);
  Result<HttpResponse> call(HttpCall call, Place& place);
  Result<HttpResponse> call_patiently(const HttpCall& call, Place& place);
  std::string url_of(const std::string& key) const;

  const std::string base_;
  const Outside outside_;
  std::string http_base_;  // that http_ speaks to
  std::mutex mutex_;       // guards what follows; only the caller's thread changes http_
  std::unique_ptr<HttpClient> http_;
  bool aborted_ = false;
};

}  // namespace drover
