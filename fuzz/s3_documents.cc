// XML that clients of S3 send: whatever it is, it is read or refused, and what is read is no longer than what came.
#include "wire/aws/s3_documents.h"

#include "base/check.h"
#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  if (const auto read = aws::read_delete_request(bytes)) {
    std::size_t size = 0;
    for (const auto& it : read->objects) size += it.key.size();
    DROVER_CHECK(!read->objects.empty() && size < bytes.size(), "keys come from the document");
  }
  if (const auto read = aws::read_complete_request(bytes)) {
    DROVER_CHECK(!read->parts.empty() && read->parts.size() < bytes.size(), "parts come from the document");
  }
  if (const auto read = aws::read_tagging(bytes)) DROVER_CHECK(read->size() < bytes.size(), "tags do, too");
  if (const auto read = aws::read_notification(bytes)) {
    for (const auto& it : read->queues) DROVER_CHECK(!it.arn.empty() && !it.events.empty(), "a rule is whole");
  }
  (void)aws::read_versioning(bytes);
  (void)aws::read_location(bytes);
  (void)aws::check_cors(bytes);
  (void)aws::canned_acl_of(bytes);
}

}  // namespace drover
