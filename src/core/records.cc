#include "core/records.h"

namespace drover {

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::pending: return "pending";
    case JobState::running: return "running";
    case JobState::succeeded: return "succeeded";
    case JobState::failed: return "failed";
    case JobState::cancelled: return "cancelled";
  }
  return "unknown";
}

std::optional<JobState> job_state_from(std::string_view name) {
  for (int value = 0; value <= static_cast<int>(JobState::cancelled); ++value) {
    if (to_string(static_cast<JobState>(value)) == name) return static_cast<JobState>(value);
  }
  return std::nullopt;
}

std::string_view to_string(StopCause cause) {
  switch (cause) {
    case StopCause::none: return "none";
    case StopCause::cancelled: return "cancelled";
    case StopCause::too_many_failures: return "too_many_failures";
    case StopCause::timed_out: return "timed_out";
    case StopCause::dependency: return "dependency";
    case StopCause::cannot_run: return "cannot_run";
  }
  return "unknown";
}

std::string_view to_string(AttemptState state) {
  switch (state) {
    case AttemptState::succeeded: return "succeeded";
    case AttemptState::failed: return "failed";
    case AttemptState::cancelled: return "cancelled";
    case AttemptState::lost: return "lost";
  }
  return "unknown";
}

bool suits(const Worker& worker, const Job& job) {
  return job.ask.fits(worker.has) && has_all(worker.labels, job.require);
}

}  // namespace drover
