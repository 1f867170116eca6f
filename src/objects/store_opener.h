// Opens the store that an object's URI names. Which service "s3://" means, and with whose credentials, the variables
// say that AWS's own clients read: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and so on. Without an endpoint it is
// Amazon.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "objects/object_uri.h"
#include "objects/s3_store.h"
#include "ports/http_client.h"
#include "ports/objects.h"

namespace drover {

class StoreOpener {
 public:
  using Variable = std::function<std::optional<std::string>(const std::string& name)>;
  struct Outside {
    /// A client of a server. `ca_file`: a file with the authorities to trust; empty: those that the system trusts.
    std::function<Result<std::unique_ptr<HttpClient>>(const std::string& base, const std::string& ca_file)> http;
    /// Nothing: there is no such file, or it cannot be read.
    std::function<std::optional<std::string>(const std::string& path)> file;
    std::function<std::int64_t()> now_ms;
    std::function<void(std::int64_t ms)> sleep;
  };

  StoreOpener(Outside outside, Variable variable) : outside_(std::move(outside)), variable_(std::move(variable)) {}

  /// A store for one thread.
  Result<std::unique_ptr<ObjectStore>> open(const ObjectUri& uri) const;
  /// The same for what only buckets can do.
  Result<std::unique_ptr<S3Store>> open_bucket(const std::string& bucket) const;

 private:
  const Outside outside_;
  const Variable variable_;
};

}  // namespace drover
