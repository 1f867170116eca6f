// What a request to S3 asks for: the operation, and the bucket and key it names, by path or by host.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "api/aws/fault.h"
#include "api/s3/s3_operations.h"
#include "base/url.h"
#include "ports/http.h"

namespace drover::aws {

struct S3Request {
  const S3OperationRow* row = nullptr;
  std::string bucket;  // empty: all of them
  std::string key;     // empty: the bucket
  QueryPairs query;

  S3Operation operation() const { return row->operation; }
  /// Nothing: it is not there.
  std::optional<std::string> parameter(std::string_view name) const;
  /// Which version of the object; nothing: the current one.
  std::optional<std::string> version() const { return parameter("versionId"); }
};

std::expected<S3Request, Fault> read_s3_request(const HttpHead& head);

/// The bucket that a host names: "photos.s3.localhost:8080" names photos. Empty: none.
std::string bucket_of_host(std::string_view host);

/// UTF-8, of up to 1,024 bytes.
std::expected<void, Fault> check_key(std::string_view key);

/// What it takes to be allowed: "s3:GetObjectVersion".
std::string policy_action(const S3Request& request);

}  // namespace drover::aws
