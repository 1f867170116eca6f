// Lists of buckets, objects, versions, uploads and parts: what a request asks for, and the XML that answers it.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "api/aws/fault.h"
#include "api/s3/s3_request.h"
#include "ports/buckets.h"
#include "wire/aws/s3_documents.h"

namespace drover::aws {

struct BucketQuestion {
  std::string prefix;
  std::string region;  // empty: any
  std::string after;
  std::uint64_t most = 10'000;
};
std::expected<BucketQuestion, Fault> read_buckets_request(const S3Request& request);
/// `buckets`: all of them, by name.
std::string buckets_xml(std::vector<Bucket> buckets, const BucketQuestion& question, const std::string& owner);

/// Of ListObjects or ListObjectsV2.
std::expected<ObjectQuestion, Fault> read_list_request(const S3Request& request);
std::string objects_xml(const S3Request& request, const ObjectQuestion& question, const ObjectPage& page,
                        const std::string& owner);

std::expected<ObjectQuestion, Fault> read_versions_request(const S3Request& request);
std::string versions_xml(const S3Request& request, const ObjectQuestion& question, const VersionPage& page,
                         const std::string& owner);

std::expected<UploadQuestion, Fault> read_uploads_request(const S3Request& request);
std::string uploads_xml(const S3Request& request, const UploadQuestion& question, const UploadPage& page,
                        const std::string& owner);

struct PartQuestion {
  std::uint32_t after = 0;
  std::uint64_t most = 1000;
};
std::expected<PartQuestion, Fault> read_parts_request(const S3Request& request);
/// One part more than was asked for says that there are more.
std::string parts_xml(const S3Request& request, const PartQuestion& question, const Upload& upload,
                      std::vector<StoredPart> parts, const std::string& owner);

/// <Deleted> or <Error> of a multi-delete.
std::string deleted_xml(const DeleteRequest::One& one, const std::expected<Removed, Fault>& removed);

/// Checksums among headers, as elements: "<ChecksumCRC32>…".
std::string checksums_xml(const ObjectHeaders& headers);

}  // namespace drover::aws
