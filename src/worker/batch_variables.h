// The variables with which AWS Batch tells a job what it is. Programs that were written for it find the same here.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "wire/worker_protocol.h"

namespace drover {

/// A job with one item is a single job, one with more an array.
inline std::vector<std::string> batch_variables(const WorkerJob& job, ItemIndex item, AttemptNumber attempt) {
  const bool is_array = job.total > 1;
  std::vector<std::string> out{
      concat("AWS_BATCH_JOB_ID=", job.uuid, is_array ? concat(":", item.value) : ""),
      concat("AWS_BATCH_JOB_ATTEMPT=", attempt.value),
      concat("AWS_BATCH_JQ_NAME=", job.queue),
      concat("AWS_BATCH_CE_NAME=", job.fleet.empty() ? "drover" : job.fleet),
      "AWS_EXECUTION_ENV=AWS_ECS_EC2",
  };
  if (is_array) {
    out.push_back(concat("AWS_BATCH_JOB_ARRAY_INDEX=", item.value));
    out.push_back(concat("AWS_BATCH_JOB_ARRAY_SIZE=", job.total));
  }
  return out;
}

}  // namespace drover
