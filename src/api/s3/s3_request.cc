#include "api/s3/s3_request.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"

namespace drover::aws {
namespace {

constexpr std::size_t kLongestKey = 1024;

/// Parts of a bucket or an object that have requests of their own, and are not here.
constexpr std::array<std::string_view, 39> kOthers{"accelerate",
                                                   "acl",
                                                   "analytics",
                                                   "attributes",
                                                   "cors",
                                                   "delete",
                                                   "encryption",
                                                   "inventory",
                                                   "legal-hold",
                                                   "lifecycle",
                                                   "logging",
                                                   "metrics",
                                                   "notification",
                                                   "object-lock",
                                                   "ownershipControls",
                                                   "partNumber",
                                                   "policy",
                                                   "policyStatus",
                                                   "replication",
                                                   "requestPayment",
                                                   "restore",
                                                   "retention",
                                                   "select",
                                                   "tagging",
                                                   "torrent",
                                                   "uploadId",
                                                   "uploads",
                                                   "versioning",
                                                   "versions",
                                                   "website",
                                                   "publicAccessBlock",
                                                   "intelligent-tiering",
                                                   "metadataTable",
                                                   "metadataConfiguration",
                                                   "metadataInventoryTable",
                                                   "metadataJournalTable",
                                                   "abac",
                                                   "renameObject",
                                                   "session"};

/// Headers by which an object would be kept in a way that is not here: to overlook one would be to promise it.
constexpr std::array<std::string_view, 6> kOtherHeaders{"x-amz-copy-source-if-", "x-amz-grant-",
                                                        "x-amz-object-lock-",    "x-amz-server-side-encryption",
                                                        "x-amz-tagging",         "x-amz-write-offset-bytes"};

std::unexpected<Fault> refused(std::string code, std::string message, int status) {
  return std::unexpected(Fault{std::move(code), std::move(message), status});
}

std::unexpected<Fault> not_here(std::string_view what) {
  return refused("NotImplemented",
                 concat("A header or query you provided implies functionality that is not implemented: ", what), 501);
}

std::unexpected<Fault> not_allowed() {
  return refused("MethodNotAllowed", "The specified method is not allowed against this resource.", 405);
}

std::expected<S3Operation, Fault> operation_of(const HttpHead& head, const S3Request& request) {
  using enum S3Operation;
  const bool is_copy = head.header("x-amz-copy-source") != nullptr;
  const std::string& method = head.method;
  if (request.bucket.empty()) {
    if (method == "GET") return list_buckets;
    return not_allowed();
  }
  if (request.key.empty()) {
    if (method == "PUT") return create_bucket;
    if (method == "HEAD") return head_bucket;
    if (method == "DELETE") return delete_bucket;
    if (method != "GET") return not_allowed();
    if (request.parameter("location")) return get_bucket_location;
    return request.parameter("list-type") == "2" ? list_objects_v2 : list_objects;
  }
  if (method == "PUT") return is_copy ? copy_object : put_object;
  if (method == "GET") return get_object;
  if (method == "HEAD") return head_object;
  if (method == "DELETE") return delete_object;
  return not_allowed();
}

}  // namespace

std::string_view to_string(S3Operation operation) {
  using enum S3Operation;
  switch (operation) {
    case list_buckets: return "ListBuckets";
    case create_bucket: return "CreateBucket";
    case head_bucket: return "HeadBucket";
    case delete_bucket: return "DeleteBucket";
    case get_bucket_location: return "GetBucketLocation";
    case list_objects: return "ListObjects";
    case list_objects_v2: return "ListObjectsV2";
    case put_object: return "PutObject";
    case copy_object: return "CopyObject";
    case get_object: return "GetObject";
    case head_object: return "HeadObject";
    case delete_object: return "DeleteObject";
  }
  return "";
}

bool only_reads(S3Operation operation) {
  using enum S3Operation;
  switch (operation) {
    case create_bucket:
    case delete_bucket:
    case put_object:
    case copy_object:
    case delete_object: return false;
    default: return true;
  }
}

std::string policy_action(S3Operation operation) {
  using enum S3Operation;
  switch (operation) {
    case list_buckets: return "s3:ListAllMyBuckets";
    case head_bucket:
    case list_objects:
    case list_objects_v2: return "s3:ListBucket";
    case head_object: return "s3:GetObject";
    case copy_object: return "s3:PutObject";
    default: return concat("s3:", to_string(operation));
  }
}

std::optional<std::string> S3Request::parameter(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

std::expected<S3Request, Fault> read_s3_request(const HttpHead& head) {
  S3Request out;
  auto query = query_pairs(head.query);
  if (!query || !head.path.starts_with('/')) return refused("InvalidURI", "Couldn't parse the specified URI.", 400);
  out.query = std::move(*query);
  const std::string_view rest = std::string_view(head.path).substr(1);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  auto bucket = percent_decoded(rest.substr(0, slash));
  auto key = percent_decoded(slash == rest.size() ? std::string_view() : rest.substr(slash + 1));
  if (!bucket || !key || utf8(*bucket) != *bucket || utf8(*key) != *key) {
    return refused("InvalidURI", "Couldn't parse the specified URI.", 400);
  }
  out.bucket = std::move(*bucket);
  out.key = std::move(*key);
  if (out.key.size() > kLongestKey) return refused("KeyTooLongError", "Your key is too long", 400);
  for (const std::string_view other : kOthers) {
    if (out.parameter(other)) return not_here(other);
  }
  for (const HttpHeader& it : head.headers) {
    const std::string name = in_small_letters(it.name);
    const auto begins = [&](std::string_view other) { return name.starts_with(other); };
    if (std::ranges::any_of(kOtherHeaders, begins)) return not_here(name);
    if (name == "x-amz-acl" && it.value != "private" && it.value != "bucket-owner-full-control") return not_here(name);
  }
  if (const auto version = out.parameter("versionId"); version && *version != "null") {
    return refused("NoSuchVersion", "The specified version does not exist.", 404);
  }
  auto operation = operation_of(head, out);
  if (!operation) return std::unexpected(std::move(operation.error()));
  out.operation = *operation;
  return out;
}

bool is_bucket_name(std::string_view name) {
  const auto is_end = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto may_be = [&](char c) { return is_end(c) || c == '-' || c == '.'; };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, may_be) && is_end(name.front()) &&
         is_end(name.back()) && !name.contains("..");
}

}  // namespace drover::aws
