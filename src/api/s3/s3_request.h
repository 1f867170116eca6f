// What a request to S3 asks for: the operation, by its method, its path and its query, and the bucket and key it names.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "api/aws/fault.h"
#include "base/url.h"
#include "ports/http.h"

namespace drover::aws {

enum class S3Operation : std::uint8_t {
  list_buckets,
  create_bucket,
  head_bucket,
  delete_bucket,
  get_bucket_location,
  list_objects,
  list_objects_v2,
  put_object,
  copy_object,
  get_object,
  head_object,
  delete_object,
};

/// "PutObject".
std::string_view to_string(S3Operation operation);
/// What a key must be allowed: only to read, or to change something.
bool only_reads(S3Operation operation);
/// What policies call it: "s3:GetObject".
std::string policy_action(S3Operation operation);

struct S3Request {
  S3Operation operation = S3Operation::list_buckets;
  std::string bucket;  // empty: all of them
  std::string key;     // empty: the bucket
  QueryPairs query;

  /// Nothing: it is not there.
  std::optional<std::string> parameter(std::string_view name) const;
};

std::expected<S3Request, Fault> read_s3_request(const HttpHead& head);

/// Three to 63 small letters, digits, dots and hyphens, as S3 has them.
bool is_bucket_name(std::string_view name);

}  // namespace drover::aws
