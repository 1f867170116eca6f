// The flags of `submit` that `run` does not have: where a job waits, what it waits for, what it asks of a machine.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/field_flags.h"

namespace drover {

struct JobFlags {
  FieldFlags fields;
  std::vector<std::string> after;
  std::vector<std::string> after_each;
};

void add_job_flags(const Verb& verb, JobFlags& flags);

/// Puts what was typed over what the job says by now.
Result<void> apply_job_flags(const JobFlags& flags, Submission& job);

}  // namespace drover
