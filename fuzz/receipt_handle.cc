// Receipt handles as clients of SQS send them: what is read is written back the same.
#include "api/sqs/receipt_handle.h"

#include "base/check.h"
#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  const auto receipt = aws::parse_receipt_handle(bytes);
  if (!receipt) return;
  DROVER_CHECK(aws::receipt_handle(*receipt) == bytes, "a receipt has one handle");
}

}  // namespace drover
