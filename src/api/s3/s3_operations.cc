#include "api/s3/s3_operations.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace drover::aws {
namespace {

using enum S3Operation;
using enum S3Level;

constexpr std::string_view kList = "prefix delimiter marker max-keys encoding-type";
constexpr std::string_view kList2 =
    "prefix delimiter max-keys encoding-type continuation-token start-after fetch-owner optional-object-attributes";
constexpr std::string_view kListVersions = "prefix delimiter key-marker version-id-marker max-keys encoding-type";
constexpr std::string_view kListUploads = "prefix delimiter key-marker upload-id-marker max-uploads encoding-type";
constexpr std::string_view kGet =
    "versionId partNumber response-cache-control response-content-disposition response-content-encoding "
    "response-content-language response-content-type response-expires";

// Those with a selector come before those without.
// clang-format off
constexpr auto kRows = std::to_array<S3OperationRow>({
    {list_buckets, "ListBuckets", "GET", service, "", "max-buckets prefix bucket-region continuation-token", "ListAllMyBuckets"},

    {get_bucket_location, "GetBucketLocation", "GET", bucket, "location", "", "GetBucketLocation"},
    {list_object_versions, "ListObjectVersions", "GET", bucket, "versions", kListVersions, "ListBucketVersions"},
    {list_multipart_uploads, "ListMultipartUploads", "GET", bucket, "uploads", kListUploads, "ListBucketMultipartUploads"},
    {get_bucket_versioning, "GetBucketVersioning", "GET", bucket, "versioning", "", "GetBucketVersioning"},
    {put_bucket_versioning, "PutBucketVersioning", "PUT", bucket, "versioning", "", "PutBucketVersioning", false, true},
    {get_bucket_notification, "GetBucketNotificationConfiguration", "GET", bucket, "notification", "", "GetBucketNotification"},
    {put_bucket_notification, "PutBucketNotificationConfiguration", "PUT", bucket, "notification", "", "PutBucketNotification", false, true},
    {get_bucket_tagging, "GetBucketTagging", "GET", bucket, "tagging", "", "GetBucketTagging"},
    {put_bucket_tagging, "PutBucketTagging", "PUT", bucket, "tagging", "", "PutBucketTagging", false, true},
    {delete_bucket_tagging, "DeleteBucketTagging", "DELETE", bucket, "tagging", "", "PutBucketTagging", false, true},
    {get_bucket_policy, "GetBucketPolicy", "GET", bucket, "policy", "", "GetBucketPolicy"},
    {put_bucket_policy, "PutBucketPolicy", "PUT", bucket, "policy", "", "PutBucketPolicy", false, true},
    {delete_bucket_policy, "DeleteBucketPolicy", "DELETE", bucket, "policy", "", "DeleteBucketPolicy", false, true},
    {get_bucket_policy_status, "GetBucketPolicyStatus", "GET", bucket, "policyStatus", "", "GetBucketPolicyStatus"},
    {get_bucket_cors, "GetBucketCors", "GET", bucket, "cors", "", "GetBucketCORS"},
    {put_bucket_cors, "PutBucketCors", "PUT", bucket, "cors", "", "PutBucketCORS", false, true},
    {delete_bucket_cors, "DeleteBucketCors", "DELETE", bucket, "cors", "", "PutBucketCORS", false, true},
    {get_bucket_acl, "GetBucketAcl", "GET", bucket, "acl", "", "GetBucketAcl"},
    {put_bucket_acl, "PutBucketAcl", "PUT", bucket, "acl", "", "PutBucketAcl", false, true},
    {get_unset, "GetBucketEncryption", "GET", bucket, "encryption", "", "GetEncryptionConfiguration"},
    {get_unset, "GetBucketLifecycleConfiguration", "GET", bucket, "lifecycle", "", "GetLifecycleConfiguration"},
    {get_unset, "GetBucketWebsite", "GET", bucket, "website", "", "GetBucketWebsite"},
    {get_unset, "GetBucketReplication", "GET", bucket, "replication", "", "GetReplicationConfiguration"},
    {get_unset, "GetObjectLockConfiguration", "GET", bucket, "object-lock", "", "GetBucketObjectLockConfiguration"},
    {get_unset, "GetPublicAccessBlock", "GET", bucket, "publicAccessBlock", "", "GetBucketPublicAccessBlock"},
    {get_unset, "GetBucketOwnershipControls", "GET", bucket, "ownershipControls", "", "GetBucketOwnershipControls"},
    {get_unset, "GetBucketLogging", "GET", bucket, "logging", "", "GetBucketLogging"},
    {get_unset, "GetBucketAccelerateConfiguration", "GET", bucket, "accelerate", "", "GetAccelerateConfiguration"},
    {get_unset, "GetBucketRequestPayment", "GET", bucket, "requestPayment", "", "GetBucketRequestPayment"},
    {delete_objects, "DeleteObjects", "POST", bucket, "delete", "", "DeleteObject", false, true},
    {list_objects_v2, "ListObjectsV2", "GET", bucket, "list-type", kList2, "ListBucket"},
    {list_objects, "ListObjects", "GET", bucket, "", kList, "ListBucket"},
    {create_bucket, "CreateBucket", "PUT", bucket, "", "", "CreateBucket", false, true},
    {head_bucket, "HeadBucket", "HEAD", bucket, "", "", "ListBucket"},
    {delete_bucket, "DeleteBucket", "DELETE", bucket, "", "", "DeleteBucket", false, true},

    {upload_part_copy, "UploadPartCopy", "PUT", object, "uploadId", "partNumber", "PutObject", true, true},
    {upload_part, "UploadPart", "PUT", object, "uploadId", "partNumber", "PutObject", false, true, true},
    {list_parts, "ListParts", "GET", object, "uploadId", "max-parts part-number-marker encoding-type", "ListMultipartUploadParts"},
    {complete_multipart_upload, "CompleteMultipartUpload", "POST", object, "uploadId", "", "PutObject", false, true},
    {abort_multipart_upload, "AbortMultipartUpload", "DELETE", object, "uploadId", "", "AbortMultipartUpload", false, true},
    {create_multipart_upload, "CreateMultipartUpload", "POST", object, "uploads", "", "PutObject", false, true},
    {get_object_tagging, "GetObjectTagging", "GET", object, "tagging", "versionId", "GetObjectTagging"},
    {put_object_tagging, "PutObjectTagging", "PUT", object, "tagging", "versionId", "PutObjectTagging", false, true},
    {delete_object_tagging, "DeleteObjectTagging", "DELETE", object, "tagging", "versionId", "DeleteObjectTagging", false, true},
    {get_object_acl, "GetObjectAcl", "GET", object, "acl", "versionId", "GetObjectAcl"},
    {put_object_acl, "PutObjectAcl", "PUT", object, "acl", "versionId", "PutObjectAcl", false, true},
    {get_object_attributes, "GetObjectAttributes", "GET", object, "attributes", "versionId", "GetObject"},
    {get_unset, "GetObjectRetention", "GET", object, "retention", "versionId", "GetObjectRetention"},
    {get_unset, "GetObjectLegalHold", "GET", object, "legal-hold", "versionId", "GetObjectLegalHold"},
    {copy_object, "CopyObject", "PUT", object, "", "", "PutObject", true, true},
    {put_object, "PutObject", "PUT", object, "", "", "PutObject", false, true, true},
    {get_object, "GetObject", "GET", object, "", kGet, "GetObject"},
    {head_object, "HeadObject", "HEAD", object, "", kGet, "GetObject"},
    {delete_object, "DeleteObject", "DELETE", object, "", "versionId", "DeleteObject", false, true},
});
// clang-format on

}  // namespace

std::span<const S3OperationRow> s3_operations() {
  return kRows;
}

const S3OperationRow& row_of(S3Operation operation) {
  const auto found = std::ranges::find(kRows, operation, &S3OperationRow::operation);
  DROVER_CHECK(found != kRows.end(), "every operation has a row");
  return *found;
}

}  // namespace drover::aws
