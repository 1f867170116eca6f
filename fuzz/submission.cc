// A job as somebody submits it in JSON.
#include "wire/submission.h"
#include "fuzzed.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  const auto submission = submission_from_json(bytes);
  if (!submission) {
    DROVER_CHECK(!submission.error().message.empty(), "a refusal has a reason");
    return;
  }
  const std::string text = submission_to_json(*submission);
  const auto again = submission_from_json(text);
  DROVER_CHECK(again.has_value(), "what was taken is taken again");
  DROVER_CHECK(submission_to_json(*again) == text && again->items == submission->items, "a submission is read back");
}

}  // namespace drover
