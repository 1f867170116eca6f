// When the job runs, and beside what.
#include "wire/fields/sections.h"
#include "wire/fields/storage.h"

namespace drover {

std::span<const JobField> queueing_fields() {
  using enum FieldKind;
  static constexpr JobField kFields[] = {
      {.name = "queue",
       .kind = text,
       .example = "\"default\"",
       .meaning = "Queue that the job waits in (default: `default`)",
       .pattern = kName,
       .holds = kNameWords,
       .flag = {FlagGroup::job, "QUEUE"},
       .stored = kept_and_shown<&JobPlace::queue>()},
      {.name = "priority",
       .kind = whole,
       .example = "10",
       .meaning = "Within a share, the job with the higher priority runs first (default: 0)",
       .most = 9999,
       .flag = {FlagGroup::job,
                {},
                "Priority from 0 to 9999; within a share, higher priorities run first (default: 0)"},
       .stored = kept_and_shown<&JobPlace::priority>()},
      {.name = "share",
       .kind = text,
       .example = "\"physics\"",
       .meaning = "Share that the job's usage counts against in a fair queue",
       .pattern = "[A-Za-z0-9_.\\-]{1,255}",
       .holds = "a name: letters, digits, '_', '.' and '-', at most 255 characters",
       .flag = {FlagGroup::job, "NAME", "Share that the job's usage counts against"},
       .stored = kept_and_shown<&JobPlace::share>()},
      {.name = "after",
       .kind = after,
       .example = "[\"prepare\", {\"job\": \"split\", \"each\": true}]",
       .meaning = "Jobs that must succeed first, by id, unique prefix of an id, or name; with `each`, every item waits "
                  "only for the item with the same index",
       .most = 20,
       .stored = kept<&Submission::after_jobs>()},
      {.name = "sequential",
       .kind = flag,
       .example = "true",
       .meaning = "Run items one at a time, in order; a failed item stops the job",
       .flag = {FlagGroup::job},
       .stored = kept_and_shown<&JobSpec::sequential>()},
      {.name = "max_running",
       .kind = whole,
       .example = "50",
       .meaning = "Maximum number of items to run at once",
       .least = 1,
       .most = kMost64,
       .flag = {FlagGroup::job},
       .stored = kept_and_shown<&JobSpec::max_running>()},
      {.name = "strict_lease",
       .kind = flag,
       .example = "true",
       .meaning = "A worker that cannot reach the server kills the job's items before their lease expires, so that no "
                  "other worker runs them at the same time (default: they keep running, and the first result counts)",
       .flag = {FlagGroup::job,
                {},
                "A worker that cannot reach the server kills the job's items before their lease expires"},
       .stored = kept<&Definition::strict_lease>()},
  };
  return kFields;
}

}  // namespace drover
