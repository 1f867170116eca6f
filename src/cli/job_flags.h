// The flags of `submit` that say what `run` does not know: where a job waits, what it waits for, what it asks of a
// machine. They are read as the fields of a job are, with the same words where something is wrong.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb_options.h"
#include "wire/submission.h"

namespace drover {

struct JobFlags {
  std::string name;
  std::string client_token;
  std::string queue;
  std::string priority;
  std::string share;
  std::vector<std::string> after;
  std::vector<std::string> after_each;
  bool sequential = false;
  bool strict_lease = false;
  std::string max_running;
  std::string job_timeout;
  std::string gpus;
  std::vector<std::string> accelerators;
  std::string definition;
};

void add_job_flags(const Verb& verb, JobFlags& flags);

/// Puts what was typed over what the job says by now.
Result<void> apply_job_flags(const JobFlags& flags, Submission& job);

}  // namespace drover
