// The XML that clients of S3 send: what is to be deleted, which parts make an object, settings of a bucket. What a
// document has beyond that is not looked at, unless it asks for something that cannot be done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace drover::aws {

struct DeleteRequest {
  struct One {
    std::string key;
    std::optional<std::string> version;
    std::optional<std::string> etag;
  };
  std::vector<One> objects;
  bool is_quiet = false;  // only what fails is answered
};
Result<DeleteRequest> read_delete_request(std::string_view xml);

struct CompleteRequest {
  struct Part {
    std::uint64_t number = 0;
    std::string etag;                                            // without quotes
    std::vector<std::pair<std::string, std::string>> checksums;  // "crc32" and its value
  };
  std::vector<Part> parts;
};
Result<CompleteRequest> read_complete_request(std::string_view xml);

using Tags = std::vector<std::pair<std::string, std::string>>;
Result<Tags> read_tagging(std::string_view xml);

/// "Enabled" or "Suspended".
Result<std::string> read_versioning(std::string_view xml);

/// The region that CreateBucket asks for; empty: none.
Result<std::string> read_location(std::string_view xml);

struct NotificationRequest {
  struct Queue {
    std::string id;
    std::string arn;
    std::vector<std::string> events;
    std::string prefix;
    std::string suffix;
  };
  std::vector<Queue> queues;
  std::string other;  // a target that is not a queue: "TopicConfiguration"; empty: there is none
};
Result<NotificationRequest> read_notification(std::string_view xml);

/// Whether it is a CORS configuration with rules that S3 takes.
Result<void> check_cors(std::string_view xml);

/// The canned ACL that grants what this document does: "private", "public-read"; an error: there is none.
Result<std::string> canned_acl_of(std::string_view xml);

}  // namespace drover::aws
