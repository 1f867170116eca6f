// What a key for one bucket allows. S3's API is where it is held against a request: api/s3/s3_bucket_key.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

enum class BucketAccess : std::uint8_t { read, write, read_write };

/// Objects of one bucket, and what may be done with them.
struct BucketGrant {
  std::string bucket;
  std::string prefix;  // that their keys begin with; empty: all of them
  BucketAccess access = BucketAccess::read;

  bool reads() const { return access != BucketAccess::write; }
  bool writes() const { return access != BucketAccess::read; }
  /// "read access to objects of the bucket 'photos' with the prefix '2026/'".
  std::string words() const;

  bool operator==(const BucketGrant&) const = default;
};

std::string_view to_string(BucketAccess access);
Result<BucketAccess> parse_bucket_access(std::string_view text);

/// Whether a bucket can have this name, and a key begin with this prefix.
Result<void> check_bucket_grant(const BucketGrant& grant);

}  // namespace drover
