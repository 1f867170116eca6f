#include "agent/image_gate.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace drover {

ImageGate::Want ImageGate::want(JobId job, const std::string& image, std::int64_t now_ms) {
  if (waiting_.contains(job)) return Want::waits;
  if (const auto pause = pauses_.find(image); pause != pauses_.end() && now_ms < pause->second.until_ms) {
    decline(job, pause->second, now_ms);
    return Want::declined;
  }
  waiting_.emplace(job, image);
  agent_.set_aside(job);
  return Want::fetch;
}

void ImageGate::on_fetched(JobId job, std::int64_t now_ms) {
  const auto waiting = waiting_.extract(job);
  if (waiting.empty()) return;
  if (const auto pause = pauses_.extract(waiting.mapped()); !pause.empty()) {
    for (const JobId other : pause.mapped().declined) agent_.accept(other);
  }
  agent_.on_job_ready(job, now_ms);
}

void ImageGate::on_failed(JobId job, const FetchFailure& failure, std::int64_t now_ms) {
  const auto waiting = waiting_.extract(job);
  if (waiting.empty()) return;
  if (failure.kind == FetchFailure::Kind::lasting) return agent_.on_job_impossible(job, failure.reason, now_ms);
  Pause& pause = pauses_[waiting.mapped()];
  // One fetch may have been for several jobs: it failed once.
  if (now_ms >= pause.until_ms) {
    ++pause.failures;
    const std::int64_t length_ms = pause_ms(pause, failure);
    pause.until_ms = now_ms + length_ms;
    pause.reason = concat(failure.reason, "; trying again in ", format_duration_us(length_ms * 1000));
  }
  decline(job, pause, now_ms);
}

// Between half of the step and all of it, so that workers that failed together do not come back together.
std::int64_t ImageGate::pause_ms(const Pause& pause, const FetchFailure& failure) {
  const std::int64_t step_ms = std::min(kLongestPauseMs, kFirstPauseMs << std::min(pause.failures - 1, 20U));
  const std::int64_t half_ms = step_ms / 2;
  const auto spread_ms = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(half_ms) + 1));
  return std::min(kLongestPauseMs, std::max(half_ms, failure.retry_after_ms) + spread_ms);
}

void ImageGate::decline(JobId job, Pause& pause, std::int64_t now_ms) {
  pause.declined.insert(job);
  agent_.decline(job, pause.reason, now_ms);
}

std::vector<JobId> ImageGate::on_tick(std::int64_t now_ms) {
  for (auto& [image, pause] : pauses_) {
    if (now_ms < pause.until_ms) continue;
    for (const JobId job : std::exchange(pause.declined, {})) agent_.accept(job);
  }
  // Whoever asks for it soon is asking again; much later it is another matter.
  std::erase_if(pauses_, [&](const auto& it) {
    return now_ms >= it.second.until_ms + kLongestPauseMs &&
           std::ranges::none_of(waiting_, [&](const auto& one) { return one.second == it.first; });
  });
  std::vector<JobId> left;
  for (const auto& [job, image] : waiting_) {
    if (!agent_.has_aside(job)) left.push_back(job);
  }
  for (const JobId job : left) {
    waiting_.erase(job);
    agent_.on_job_ready(job, now_ms);  // nothing of it is left: it was cancelled, or has gone elsewhere
  }
  return left;
}

std::optional<std::int64_t> ImageGate::next_deadline() const {
  std::optional<std::int64_t> soonest;
  for (const auto& [image, pause] : pauses_) {
    if (!pause.declined.empty()) soonest = soonest ? std::min(*soonest, pause.until_ms) : pause.until_ms;
  }
  return soonest;
}

}  // namespace drover
