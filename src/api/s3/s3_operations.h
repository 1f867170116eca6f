// The operations of S3 that are here, as a table: how a request names each, what it may say in its query, and what it
// takes to be allowed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace drover::aws {

enum class S3Operation : std::uint8_t {
  list_buckets,
  create_bucket,
  head_bucket,
  delete_bucket,
  get_bucket_location,
  list_objects,
  list_objects_v2,
  list_object_versions,
  list_multipart_uploads,
  delete_objects,
  get_bucket_versioning,
  put_bucket_versioning,
  get_bucket_notification,
  put_bucket_notification,
  get_bucket_tagging,
  put_bucket_tagging,
  delete_bucket_tagging,
  get_bucket_policy,
  put_bucket_policy,
  delete_bucket_policy,
  get_bucket_policy_status,
  get_bucket_cors,
  put_bucket_cors,
  delete_bucket_cors,
  get_bucket_acl,
  put_bucket_acl,
  get_unset,  // a setting that nobody can make here
  put_object,
  copy_object,
  get_object,
  head_object,
  delete_object,
  get_object_attributes,
  get_object_tagging,
  put_object_tagging,
  delete_object_tagging,
  get_object_acl,
  put_object_acl,
  create_multipart_upload,
  upload_part,
  upload_part_copy,
  complete_multipart_upload,
  abort_multipart_upload,
  list_parts,
};

/// What a request is about.
enum class S3Level : std::uint8_t { service, bucket, object };

struct S3OperationRow {
  S3Operation operation;
  std::string_view name;    // "PutObject"
  std::string_view method;  // "PUT"
  S3Level level;
  std::string_view selector;    // the query names it; empty: it is what is meant when nothing else is
  std::string_view parameters;  // what else the query may say, with spaces between
  std::string_view action;      // of policies, behind "s3:"
  bool is_copy = false;         // has the header x-amz-copy-source
  bool changes = false;         // takes the right to change something
  bool takes_data = false;      // its body goes to the disk as it comes
};

std::span<const S3OperationRow> s3_operations();
const S3OperationRow& row_of(S3Operation operation);

}  // namespace drover::aws
