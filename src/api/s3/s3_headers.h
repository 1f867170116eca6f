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

/// What a PUT says of its object.
ObjectHeaders kept_headers(const HttpHead& head);

/// The checksums that a PUT asks for, MD5 always among them: it makes the ETag.
std::vector<ChecksumKind> wanted_checksums(const HttpHead& head);
/// Whether the body is what its head says; with the checksums that are kept and answered: "x-amz-checksum-crc32".
std::expected<ObjectHeaders, Fault> check_checksums(const HttpHead& head,
                                                    const std::map<ChecksumKind, std::string>& found);

/// Of an answer to GET or HEAD, but for the length.
std::vector<HttpHeader> object_headers(const StoredObject& object, const S3Request& request, const HttpHead& head);

}  // namespace drover::aws
