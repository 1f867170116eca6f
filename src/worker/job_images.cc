#include "worker/job_images.h"

#include <utility>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::int64_t kProgressPauseMs = 1'000;

/// What is fetched once for all who want it.
std::string key_of(const ContainerOptions& options) {
  return concat(options.image, " ", options.digest, " ", static_cast<int>(options.runtime));
}

FetchFailure failure_of(const ImageError& error) {
  const bool is_lasting = error.blame == Blame::user;
  return {.kind = is_lasting ? FetchFailure::Kind::lasting : FetchFailure::Kind::passing,
          .reason = error.sentence(),
          .retry_after_ms = error.retry_after_ms};
}

}  // namespace

void JobImages::want(JobId job, const ContainerOptions& options) {
  if (gate_.want(job, key_of(options), now_ms_()) != ImageGate::Want::fetch) return;
  Fetching& fetching = fetches_[job] = {.image = options.image};
  fetching.wish = fetch_(options, [this, job](auto got) { on_fetched(job, std::move(got)); });
}

void JobImages::forget(JobId job) {
  gate_.forget(job);
  fetches_.erase(job);
}

void JobImages::on_fetched(JobId job, ImageResult<std::shared_ptr<const ContainerPlan>> got) {
  if (fetches_.erase(job) == 0) return;
  if (got) {
    ready_(job, std::move(*got));
    gate_.on_fetched(job, now_ms_());
    return;
  }
  const FetchFailure failure = failure_of(got.error());
  notice_(concat(failure.reason, failure.kind == FetchFailure::Kind::passing ? "; trying again later" : ""));
  gate_.on_failed(job, failure, now_ms_());
}

void JobImages::on_tick() {
  for (const JobId job : gate_.on_tick(now_ms_())) fetches_.erase(job);
  for (auto& [job, fetching] : fetches_) tell_progress(job, fetching);
}

void JobImages::on_progress(const std::string& image, const std::string& words) {
  for (auto& [job, fetching] : fetches_) {
    if (fetching.image != image) continue;
    fetching.untold = concat("image ", image, ": ", words);
    tell_progress(job, fetching);
  }
}

void JobImages::tell_progress(JobId job, Fetching& fetching) {
  if (fetching.untold.empty() || now_ms_() < fetching.told_ms + kProgressPauseMs) return;
  fetching.told_ms = now_ms_();
  agent_.note(job, std::exchange(fetching.untold, {}));
}

}  // namespace drover
