// The names by which clients of AWS refer to jobs, to items of arrays and to the logs of attempts: a name that the
// server makes is read back, and a name that is read can be written.
#include "api/batch/job_view.h"
#include "api/logs/stream_name.h"
#include "base/text.h"
#include "fuzzed.h"

namespace drover {
namespace {

void check_stream(const Job& job, ItemIndex item, AttemptNumber attempt) {
  const auto read = aws::parse_log_stream(aws::log_stream(job, item, attempt.value));
  DROVER_CHECK(read && read->job == job.uuid.text() && read->item == item && read->attempt == attempt,
               "the name of a log stream is read back");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  if (const auto id = aws::parse_job_id(bytes)) {
    const auto again = aws::parse_job_id(id->child ? concat(id->uuid, ":", id->child->value) : id->uuid);
    DROVER_CHECK(again && again->uuid == id->uuid && again->child == id->child, "the id of a job is read back");
  }
  const auto task = aws::parse_log_stream(bytes);
  if (!task) return;
  Job job;
  const auto uuid = Uuid::parse(task->job);
  DROVER_CHECK(uuid.has_value(), "a log stream is a job's");
  job.uuid = *uuid;
  job.total = 2;
  check_stream(job, task->item, task->attempt);
  job.named_definition = bytes.substr(0, bytes.rfind('/'));
  check_stream(job, task->item, task->attempt);
  job.total = 1;
  check_stream(job, ItemIndex{0}, task->attempt);
}

}  // namespace drover
