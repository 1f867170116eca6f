#include "api/s3/s3_bucket_key.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace drover::aws {
namespace {

/// What an action takes of a grant.
enum class Takes : std::uint8_t { reading, writing };

struct ActionRow {
  std::string_view action;
  Takes takes;
  S3Level level;
};

/// All that such keys can be used for: former versions can be read, but not deleted, and no setting of a bucket
/// changed.
constexpr auto kActionRows = std::to_array<ActionRow>({
    {"s3:ListBucket", Takes::reading, S3Level::bucket},
    {"s3:ListBucketVersions", Takes::reading, S3Level::bucket},
    {"s3:ListBucketMultipartUploads", Takes::writing, S3Level::bucket},
    {"s3:GetObject", Takes::reading, S3Level::object},
    {"s3:GetObjectVersion", Takes::reading, S3Level::object},
    {"s3:GetObjectTagging", Takes::reading, S3Level::object},
    {"s3:GetObjectVersionTagging", Takes::reading, S3Level::object},
    {"s3:GetObjectAcl", Takes::reading, S3Level::object},
    {"s3:GetObjectVersionAcl", Takes::reading, S3Level::object},
    {"s3:PutObject", Takes::writing, S3Level::object},
    {"s3:PutObjectTagging", Takes::writing, S3Level::object},
    {"s3:PutObjectAcl", Takes::writing, S3Level::object},
    {"s3:DeleteObject", Takes::writing, S3Level::object},
    {"s3:DeleteObjectTagging", Takes::writing, S3Level::object},
    {"s3:AbortMultipartUpload", Takes::writing, S3Level::object},
    {"s3:ListMultipartUploadParts", Takes::writing, S3Level::object},
});

bool allows(const BucketGrant& grant, const ActionRow& row) {
  return row.takes == Takes::reading ? grant.reads() : grant.writes();
}

/// Clients look at the bucket before they use it, whatever for.
bool is_look_at_bucket(const S3Request& request) {
  return request.operation() == S3Operation::head_bucket || request.operation() == S3Operation::get_bucket_location;
}

std::unexpected<Fault> not_granted(const Caller& caller, std::string_view action, const std::string& resource) {
  return std::unexpected(Fault{"AccessDenied",
                               utf8(concat("Access Denied: the key ", caller.key_id, " grants ", caller.grant->words(),
                                           ", not ", action, " on ", resource)),
                               403});
}

}  // namespace

std::expected<void, Fault> check_bucket_key(const Caller& caller, const S3Request& request, std::string_view action,
                                            const std::string& bucket, const std::string& key) {
  DROVER_CHECK(caller.grant, "a key for a bucket has a grant");
  const BucketGrant& grant = *caller.grant;
  if (bucket.empty()) return not_granted(caller, action, "all buckets");
  const bool is_list = key.empty();
  if (is_list && is_look_at_bucket(request) && bucket == grant.bucket) return {};
  const std::string below = is_list ? request.parameter("prefix").value_or("") : key;
  const std::string resource = concat("the bucket '", bucket, "'");
  const auto row = std::ranges::find(kActionRows, action, &ActionRow::action);
  const bool is_allowed = row != kActionRows.end() && (row->level == S3Level::bucket) == is_list && allows(grant, *row);
  if (is_allowed && bucket == grant.bucket && below.starts_with(grant.prefix)) return {};
  if (!is_list) return not_granted(caller, action, concat("'", bucket, "/", key, "'"));
  return not_granted(caller, action, below.empty() ? resource : concat(resource, " with the prefix '", below, "'"));
}

std::expected<void, Fault> check_bucket_key(const Caller& caller, const S3Request& request) {
  if (request.operation() == S3Operation::delete_objects) {
    if (request.bucket == caller.grant->bucket && caller.grant->writes()) return {};
    return not_granted(caller, "s3:DeleteObject", concat("the bucket '", request.bucket, "'"));
  }
  return check_bucket_key(caller, request, policy_action(request), request.bucket, request.key);
}

}  // namespace drover::aws
