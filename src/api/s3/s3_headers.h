// Headers of objects: what of a PUT is kept with the object and given back with it, and the checksums among them.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "api/aws/fault.h"
#include "api/s3/s3_request.h"
#include "ports/buckets.h"
#include "ports/http.h"
#include "wire/checksums.h"

namespace drover::aws {

/// What a PUT says of its object, but for its class and its tags.
std::expected<ObjectHeaders, Fault> kept_headers(const HttpHead& head);
/// As S3 names it; empty: the usual one.
std::expected<std::string, Fault> storage_class_of(const HttpHead& head);
/// x-amz-tagging: "team=a&stage=raw".
std::expected<std::string, Fault> tags_of(const HttpHead& head);

/// Tags as an object has them: as in a query, at most ten.
std::expected<std::string, Fault> tags_text(const std::vector<std::pair<std::string, std::string>>& tags,
                                            std::size_t most = 10);
std::vector<std::pair<std::string, std::string>> tags_from(std::string_view text);

/// The checksums that a PUT asks for, MD5 always among them: it makes the ETag.
std::vector<ChecksumKind> wanted_checksums(const HttpHead& head);
/// Whether the body is what its head says; with the checksums that are kept and answered: "x-amz-checksum-crc32".
std::expected<ObjectHeaders, Fault> check_checksums(const HttpHead& head,
                                                    const std::map<ChecksumKind, std::string>& found);

/// The same for a body that was gathered in memory.
std::expected<void, Fault> check_small_body(const HttpHead& head, std::string_view body);

/// Of an answer to GET or HEAD, but for the length. Checksums are those of the whole object, so a part has none.
std::vector<HttpHeader> object_headers(const StoredObject& object, const S3Request& request, const HttpHead& head,
                                       bool is_part);

/// "crc32" and its like; nothing: it is none that S3 has.
std::optional<ChecksumKind> checksum_kind(std::string_view name);

}  // namespace drover::aws
