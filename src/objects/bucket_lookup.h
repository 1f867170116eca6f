// How questions about buckets and objects are refused, and where an answer begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "objects/bucket_index.h"
#include "ports/buckets.h"

namespace drover {

inline std::unexpected<BucketError> trouble(Error error) {
  return std::unexpected(BucketError{BucketFault::trouble, std::move(error)});
}

inline std::unexpected<BucketError> no_bucket(std::string_view name) {
  return std::unexpected(
      BucketError{BucketFault::no_such_bucket,
                  {ErrorCode::not_found, concat("there is no bucket '", name, "'"), "list buckets with 'aws s3 ls'"}});
}

inline std::unexpected<BucketError> no_key(const ObjectName& name, std::string marker = {}) {
  return std::unexpected(BucketError{
      BucketFault::no_such_key,
      {ErrorCode::not_found, concat("there is no object '", name.key, "' in the bucket '", name.bucket, "'"),
       concat("list objects with 'aws s3 ls s3://", name.bucket, "/'")},
      std::move(marker)});
}

inline std::unexpected<BucketError> no_upload(const UploadName& name) {
  return std::unexpected(
      BucketError{BucketFault::no_such_upload,
                  {ErrorCode::not_found, concat("there is no upload '", name.id, "' of '", name.key, "'"), ""}});
}

inline BucketResult<BucketRow> found_bucket(BucketIndex& index, const std::string& name) {
  auto row = index.bucket(name);
  if (!row) return trouble(std::move(row.error()));
  std::optional<BucketRow>& found = *row;
  if (!found) return no_bucket(name);
  return std::move(*found);
}

/// The version that is asked for, if it is an object.
inline BucketResult<ObjectRow> found_object(BucketIndex& index, std::int64_t bucket, const ObjectName& name) {
  auto current = index.object(bucket, name.key);
  if (!current) return trouble(std::move(current.error()));
  std::optional<ObjectRow>& row = *current;
  if (row && (!name.version || row->object.version == *name.version)) return std::move(*row);
  if (!name.version) {
    auto newest = index.newest_old_version(bucket, name.key);
    if (!newest) return trouble(std::move(newest.error()));
    std::optional<ObjectRow>& marker = *newest;
    return no_key(name, marker ? marker->object.version : std::string());
  }
  auto old = index.old_version(bucket, name.key, *name.version);
  if (!old) return trouble(std::move(old.error()));
  std::optional<ObjectRow>& version = *old;
  if (!version) {
    // It may have become the current one between the two looks.
    auto again = index.object(bucket, name.key);
    if (!again) return trouble(std::move(again.error()));
    if (*again && (*again)->object.version == *name.version) return std::move(**again);
    return std::unexpected(BucketError{
        BucketFault::no_such_version,
        {ErrorCode::not_found, concat("the object '", name.key, "' has no version '", *name.version, "'"), ""}});
  }
  if (version->object.is_marker) {
    return std::unexpected(
        BucketError{BucketFault::is_marker,
                    {ErrorCode::not_found, concat("this version says that '", name.key, "' was deleted"), ""},
                    version->object.version});
  }
  return std::move(*version);
}

inline BucketResult<ObjectRow> found_object(BucketIndex& index, const ObjectName& name) {
  auto home = found_bucket(index, name.bucket);
  if (!home) return std::unexpected(std::move(home.error()));
  return found_object(index, home->number, name);
}

inline BucketResult<UploadRow> found_upload(BucketIndex& index, const UploadName& name) {
  auto home = found_bucket(index, name.bucket);
  if (!home) return std::unexpected(std::move(home.error()));
  auto row = index.upload(home->number, name.key, name.id);
  if (!row) return trouble(std::move(row.error()));
  std::optional<UploadRow>& found = *row;
  if (!found) return no_upload(name);
  found->upload.object.bucket = name.bucket;
  return std::move(*found);
}

/// In the words of in_transaction(): a refusal is an outcome, and only trouble undoes what others do.
template <class T>
Result<BucketResult<T>> refused(BucketError error) {
  if (error.fault == BucketFault::trouble) return std::unexpected(std::move(error.error));
  return BucketResult<T>(std::unexpected(std::move(error)));
}

}  // namespace drover
