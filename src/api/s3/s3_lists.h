// Lists of buckets and objects: what a request asks for, and the XML that answers it.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "api/aws/fault.h"
#include "api/s3/s3_request.h"
#include "ports/buckets.h"

namespace drover::aws {

std::string buckets_xml(const std::vector<Bucket>& buckets, const std::string& owner);

/// Of ListObjects or ListObjectsV2.
std::expected<ObjectQuestion, Fault> read_list_request(const S3Request& request);
std::string objects_xml(const S3Request& request, const ObjectQuestion& question, const ObjectPage& page,
                        const std::string& owner);

}  // namespace drover::aws
