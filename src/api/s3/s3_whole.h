// What an object that came in parts has of its own: its ETag and its checksum, made of those of the parts.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "api/aws/fault.h"
#include "ports/buckets.h"
#include "ports/http.h"
#include "wire/aws/s3_documents.h"

namespace drover::aws {

/// The upload's headers that say which checksum the whole object is to have. A fault: there is no such checksum.
std::expected<ObjectHeaders, Fault> upload_checksum(const HttpHead& head);

struct WholeObject {
  std::string etag;       // "…-3"
  ObjectHeaders headers;  // the upload's, with the checksum
};
/// Of the parts that the request names, which are there. A fault: they do not make an object.
std::expected<WholeObject, Fault> whole_object(const Upload& upload, const CompleteRequest& request,
                                               const std::vector<StoredPart>& there, const HttpHead& head);

}  // namespace drover::aws
