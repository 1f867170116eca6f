// drover why: why a job, or an item of it, does not run.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/answer.h"
#include "cli/server_job.h"
#include "cli/server_verb.h"

namespace drover {
namespace {

struct WhyFlags : AskingFlags {
  std::string reference;
};

Result<int> why(ServerClient& client, const WhyFlags& flags) {
  auto reference = job_and_item(client, flags.reference);
  if (!reference) return pass(reference);
  auto answer = client.get(job_path(reference->job, reference->item.empty() ? "/why" : "/why?item=" + reference->item));
  if (!answer && answer.error().code == ErrorCode::not_found && answer.error().next.empty()) {
    answer.error().next = fmt::format("list the items: drover items {}", reference->job);
  }
  if (!answer) return pass(answer);
  const std::string job = fmt::format("job '{}'", text_in(*answer, "name"));
  const std::string reason = text_in(*answer, "reason");
  // Who is named in the sentence need not be named before it.
  std::string who = job + ": ";
  if (reason.starts_with(fmt::format("job {} ", text_in(*answer, "name")))) {
    who = "";
  } else if (!reference->item.empty() && !reason.starts_with(fmt::format("item {} ", reference->item))) {
    who = fmt::format("item {} of {}: ", reference->item, job);
  }
  return tell(flags.common, *answer, who + reason);
}

}  // namespace

void add_why(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<WhyFlags>();
  add_server_verb(app, "why", "Explain why a job, or one of its items, is not running",
                  "drover why nightly\n  drover why nightly:17", *flags, invocation,
                  [flags](ServerClient& client) { return why(client, *flags); })
      .add_option("job", flags->reference, "Job, or JOB:INDEX for one item (default: the newest job)")
      .type_name("JOB");
}

}  // namespace drover
