#include "core/records.h"

#include <algorithm>

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

std::string_view to_string(SpotUse use) {
  switch (use) {
    case SpotUse::prefer: return "prefer";
    case SpotUse::only: return "only";
    case SpotUse::never: return "never";
  }
  return "unknown";
}

bool is_spot(const Labels& labels) {
  const auto market = labels.find(std::string(kMarketLabel));
  return market != labels.end() && market->second == kSpotMarket;
}

std::string_view to_string(StopCause cause) {
  switch (cause) {
    case StopCause::none: return "none";
    case StopCause::cancelled: return "cancelled";
    case StopCause::too_many_failures: return "too_many_failures";
    case StopCause::timed_out: return "timed_out";
    case StopCause::dependency: return "dependency";
    case StopCause::cannot_run: return "cannot_run";
    case StopCause::withdrawn: return "withdrawn";
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

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::alive: return "alive";
    case WorkerState::lost: return "lost";
    case WorkerState::left: return "left";
    case WorkerState::fenced: return "fenced";
  }
  return "unknown";
}

bool matches(const ReopenChoice& choice, const Attempt& it) {
  const bool state_matches = it.state == AttemptState::cancelled || (choice.failed && it.state == AttemptState::failed);
  if (!it.settled || !state_matches) return false;
  if (!choice.items.empty() && !std::ranges::binary_search(choice.items, it.item)) return false;
  if (choice.exit_code && it.exit_code != choice.exit_code) return false;
  if (choice.signal && it.signal != choice.signal) return false;
  return !choice.ending || it.ending == *choice.ending;
}

bool serves(const std::string& fleet, const std::vector<std::string>& fleets) {
  return fleet.empty() || fleets.empty() || std::ranges::find(fleets, fleet) != fleets.end();
}

bool suits(const Worker& worker, const Job& job) {
  if (!job.ask.fits(worker.has) || !has_all(worker.labels, job.require)) return false;
  return job.spot.use == SpotUse::prefer || is_spot(worker.labels) == (job.spot.use == SpotUse::only);
}

}  // namespace drover
