// What happens when something goes wrong.
#include "wire/fields/sections.h"
#include "wire/fields/storage.h"

namespace drover {
namespace {

void read_retries(JobReader& reader, const JobField& field, Submission& job) {
  std::uint32_t retries = job.policy.max_tries - 1;
  reader.whole(field.name, retries);
  job.policy.max_tries = retries + 1;
}

std::string write_retries(const JobField& field, const Submission& job) {
  return json_of(field, job.policy.max_tries - 1);
}

}  // namespace

std::span<const JobField> failure_fields() {
  using enum FieldKind;
  static constexpr JobField kFields[] = {
      {.name = "timeout",
       .kind = time,
       .example = "\"10m\"",
       .meaning = "Time limit per attempt; one that runs longer is stopped and not retried",
       .least = 1,
       .most = kLongest,
       .flag = {FlagGroup::policy, {}, "Time limit per attempt; one that runs longer gets SIGTERM, then SIGKILL"},
       .stored = kept<&Policy::timeout_ms>()},
      {.name = "grace",
       .kind = time,
       .example = "\"30s\"",
       .meaning = "Time between SIGTERM and SIGKILL (default: 30s)",
       .most = kLongest,
       .flag = {FlagGroup::policy},
       .stored = kept<&Policy::grace_ms>()},
      {.name = "on_notice",
       .kind = choice,
       .example = "\"checkpoint\"",
       .meaning =
           "What happens when the cloud says that it will take the machine away: run (the item runs on for as long "
           "as it can) or checkpoint (it gets SIGTERM at once, saves what it has, and runs again elsewhere) "
           "(default: run)",
       .pattern = "run|checkpoint",
       .flag = {FlagGroup::job,
                {},
                "When the cloud is about to take the machine away: run on, or SIGTERM to checkpoint"},
       .stored = kept<&Definition::on_notice>()},
      {.name = "job_timeout",
       .kind = time,
       .example = "\"12h\"",
       .meaning = "Time limit for the whole job; a job that takes longer is stopped",
       .least = 1,
       .most = kLongest,
       .flag = {FlagGroup::job},
       .stored = kept_and_shown<&JobSpec::job_timeout_ms>()},
      {.name = "retries",
       .kind = whole,
       .example = "2",
       .meaning = "Number of times to retry an item that failed (default: 0)",
       .most = 1'000'000,
       .flag = {FlagGroup::policy},
       .stored = {.read = read_retries, .write = write_retries}},
      {.name = "retry_delay",
       .kind = time,
       .example = "\"1m\"",
       .meaning = "Time to wait before a retry (default: 0s)",
       .most = kLongest,
       .flag = {FlagGroup::policy},
       .stored = kept<&Policy::retry_delay_ms>()},
      {.name = "rules",
       .kind = rules,
       .example = "[{\"onExitCode\": \"75\", \"action\": \"RETRY\"}]",
       .meaning = "Retry rules in the format of AWS Batch; the first rule that matches applies",
       .stored = kept<&Policy::rules>()},
      {.name = "max_failures",
       .kind = whole,
       .example = "10",
       .meaning = "Stop the job when more items than this have failed permanently",
       .most = kMost64,
       .stored = kept<&Policy::max_failures>()},
      {.name = "lost_limit",
       .kind = whole,
       .example = "20",
       .meaning = "Give up on an item after its machine has been lost this many times (default: 20)",
       .least = 1,
       .most = 1'000'000,
       .stored = kept<&Policy::lost_limit>()},
      {.name = "client_token",
       .kind = text,
       .example = "\"2026-11-15\"",
       .meaning = "Idempotency token; a second submission with the same token returns the same job",
       .holds = "a token",
       .flag = {FlagGroup::job, "TEXT"},
       .stored = kept<&Submission::client_token>()},
  };
  return kFields;
}

}  // namespace drover
