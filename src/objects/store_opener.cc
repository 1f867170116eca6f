#include "objects/store_opener.h"

#include "base/text.h"
#include "objects/aws_credentials.h"
#include "objects/file_store.h"
#include "objects/http_store.h"

namespace drover {
namespace {

constexpr std::string_view kUsualRegion = "us-east-1";

/// Without a slash at the end, so that paths can follow.
std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Result<std::unique_ptr<S3Store>> StoreOpener::open_bucket(const std::string& bucket) const {
  const std::string ca_file = variable_("AWS_CA_BUNDLE").value_or("");
  const auto credentials = std::make_shared<AwsCredentials>(
      AwsCredentials::Outside{.variable = variable_,
                              .file = outside_.file,
                              .http = [http = outside_.http](const std::string& base) { return http(base, {}); },
                              .now_ms = outside_.now_ms});
  std::string region = credentials->region();
  std::string endpoint;
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    if (endpoint.empty()) endpoint = without_slash(variable_(name).value_or(""));
  }
  if (endpoint.empty()) {
    if (region.empty()) region = kUsualRegion;
    endpoint = concat("https://s3.", region, ".amazonaws.com");
  } else if (!endpoint.starts_with("http://") && !endpoint.starts_with("https://")) {
    return fail(ErrorCode::bad_input, concat("invalid S3 endpoint '", endpoint, "'"),
                "write AWS_ENDPOINT_URL as http://HOST:PORT or https://HOST:PORT");
  }
  if (region.empty()) region = kUsualRegion;
  auto http = outside_.http(endpoint, ca_file);
  if (!http) return pass(http);
  return std::make_unique<S3Store>(
      S3Store::Place{.endpoint = endpoint, .region = region, .bucket = bucket},
      S3Store::Outside{.http = std::move(*http),
                       .credentials = [credentials](bool refused) { return credentials->get(refused); },
                       .now_ms = outside_.now_ms,
                       .sleep = outside_.sleep});
}

Result<std::unique_ptr<ObjectStore>> StoreOpener::open(const ObjectUri& uri) const {
  switch (uri.scheme) {
    case ObjectUri::Scheme::file: return std::make_unique<FileStore>(uri.store);
    case ObjectUri::Scheme::http:
      return std::make_unique<HttpStore>(
          uri.store,
          HttpStore::Outside{.http = [http = outside_.http](const std::string& base) { return http(base, {}); },
                             .sleep = outside_.sleep});
    case ObjectUri::Scheme::s3: break;
  }
  if (uri.store.empty()) {
    return fail(ErrorCode::bad_input, concat("'", uri.text(), "' names no bucket"), "write s3://BUCKET/KEY");
  }
  return open_bucket(uri.store);
}

}  // namespace drover
