// The XML that S3 answers, as its clients read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover::aws {

/// <Error>. An empty code: it is none.
struct S3Error {
  std::string code;
  std::string message;
};
S3Error read_s3_error(std::string_view xml);

struct ListAnswer {
  struct Object {
    std::string key;
    std::uint64_t size = 0;
    std::int64_t modified_ms = 0;
    std::string etag;  // without quotes
  };
  std::vector<Object> objects;
  std::vector<std::string> prefixes;
  std::string next;  // the token of the next page; empty: this is the last
};
/// Of ListObjectsV2, whose keys are escaped.
Result<ListAnswer> read_list_answer(std::string_view xml);

struct NamedBucket {
  std::string name;
  std::int64_t created_ms = 0;
};
/// Of ListBuckets.
Result<std::vector<NamedBucket>> read_bucket_list(std::string_view xml);

/// The text of an element below the root: "UploadId", "ETag" without quotes. Empty: there is none.
std::string read_element(std::string_view xml, std::string_view name);

}  // namespace drover::aws
