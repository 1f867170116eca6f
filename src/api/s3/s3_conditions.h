// What a request says about the object it wants: which part of it, and on what conditions.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "api/aws/fault.h"
#include "ports/buckets.h"
#include "ports/http.h"

namespace drover::aws {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

/// "bytes=0-99", "bytes=100-", "bytes=-5" of so many bytes. Nothing: no range, or none that HTTP knows, which means the
/// whole. A fault: there is nothing in it.
std::expected<std::optional<ByteRange>, Fault> read_range(const HttpHead& head, std::uint64_t size);

/// If-None-Match: * and If-Match of a PUT.
std::expected<void, Fault> read_put_conditions(const HttpHead& head, PutObject& put);

/// x-amz-copy-source-if-match and its like, of the object that is copied.
std::expected<void, Fault> check_source_conditions(const HttpHead& head, const StoredObject& source);

/// If-Match and its like. A fault of status 304 or 412: they do not hold.
std::expected<void, Fault> check_conditions(const HttpHead& head, const StoredObject& object);

/// Whether a list of ETags, or "*", has this one.
bool names_etag(std::string_view list, std::string_view etag);

}  // namespace drover::aws
