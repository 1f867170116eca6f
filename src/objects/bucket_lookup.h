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
  return std::unexpected(BucketError{
      BucketFault::no_such_bucket,
      {ErrorCode::not_found, concat("there is no bucket '", name, "'"), "list buckets with 'drover objects ls'"}});
}

inline std::unexpected<BucketError> no_key(std::string_view bucket, std::string_view key) {
  return std::unexpected(
      BucketError{BucketFault::no_such_key,
                  {ErrorCode::not_found, concat("there is no object '", key, "' in the bucket '", bucket, "'"),
                   concat("list objects with 'drover objects ls s3://", bucket, "/'")}});
}

inline BucketResult<BucketRow> found_bucket(BucketIndex& index, const std::string& name) {
  auto row = index.bucket(name);
  if (!row) return trouble(std::move(row.error()));
  std::optional<BucketRow>& found = *row;
  if (!found) return no_bucket(name);
  return std::move(*found);
}

inline BucketResult<ObjectRow> found_object(BucketIndex& index, const std::string& bucket, const std::string& key) {
  auto home = found_bucket(index, bucket);
  if (!home) return std::unexpected(std::move(home.error()));
  auto row = index.object(home->number, key);
  if (!row) return trouble(std::move(row.error()));
  std::optional<ObjectRow>& found = *row;
  if (!found) return no_key(bucket, key);
  return std::move(*found);
}

}  // namespace drover
