// Requests to S3: "METHOD PATH?QUERY", then headers in lines. Whatever is understood names an operation whose row it
// fits, and a key that can be kept.
#include "api/s3/s3_request.h"

#include "base/check.h"
#include "base/text.h"
#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  std::string_view line = take_until(bytes, '\n');
  HttpHead head;
  head.method = take_until(line, ' ');
  head.path = take_until(line, '?');
  head.query = line;
  while (!bytes.empty()) {
    std::string_view header = take_until(bytes, '\n');
    const std::string_view name = take_until(header, ':');
    head.headers.push_back({std::string(name), std::string(trimmed(header))});
  }
  const auto request = aws::read_s3_request(head);
  if (!request) return;
  DROVER_CHECK(request->row->method == head.method, "the method is that of the operation");
  DROVER_CHECK(request->key.size() <= 1024, "a key is not too long");
  DROVER_CHECK((request->row->level == aws::S3Level::service) == request->bucket.empty(), "the level fits");
  DROVER_CHECK((request->row->level == aws::S3Level::object) == !request->key.empty(), "and so does the key");
  DROVER_CHECK(aws::policy_action(*request).starts_with("s3:"), "policies know it");
}

}  // namespace drover
