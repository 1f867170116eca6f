#include "worker/job_images.h"

#include <utility>

#include "base/text.h"

namespace drover {
namespace {

// An image that does not come, for no fault of the job's, is tried so often before its items go elsewhere.
constexpr std::uint32_t kMostFetches = 4;
constexpr std::int64_t kFetchPauseMs = 2'000;  // doubled with each
constexpr std::int64_t kProgressPauseMs = 1'000;

}  // namespace

void JobImages::want(JobId job, const ContainerOptions& options) {
  const auto [it, is_new] = waiting_.try_emplace(job, Waiting{.options = options});
  if (!is_new) return;
  agent_.set_aside(job);
  fetch(job, it->second);
}

void JobImages::fetch(JobId job, Waiting& waiting) {
  waiting.wish = fetch_(waiting.options, [this, job](auto got) { on_fetched(job, std::move(got)); });
}

void JobImages::on_fetched(JobId job, ImageResult<std::shared_ptr<const ContainerPlan>> got) {
  const auto found = waiting_.find(job);
  if (found == waiting_.end()) return;
  if (got) {
    waiting_.erase(found);
    ready_(job, std::move(*got));
    agent_.on_job_ready(job, now_ms_());
    return;
  }
  const std::string reason = got.error().sentence();
  if (got.error().blame == Blame::user) {
    waiting_.erase(found);
    notice_(reason);
    agent_.on_job_impossible(job, reason, now_ms_());
    return;
  }
  Waiting& waiting = found->second;
  waiting.wish.reset();
  if (++waiting.failed >= kMostFetches) {
    waiting_.erase(found);
    notice_(concat(reason, "; others may do better"));
    agent_.on_job_failed_here(job, reason, now_ms_());
    return;
  }
  notice_(concat(reason, "; trying again"));
  waiting.untold.clear();
  agent_.note(job, concat(reason, "; it will be tried again"));
  waiting.again_at_ms = now_ms_() + (kFetchPauseMs << waiting.failed);
}

void JobImages::on_tick() {
  std::erase_if(waiting_, [&](const auto& it) {
    if (agent_.has_aside(it.first)) return false;
    agent_.on_job_ready(it.first, now_ms_());  // nothing of it is left: it was cancelled, or has gone elsewhere
    return true;
  });
  for (auto& [job, waiting] : waiting_) {
    tell_progress(job, waiting);
    if (!waiting.again_at_ms || now_ms_() < *waiting.again_at_ms) continue;
    waiting.again_at_ms.reset();
    agent_.set_aside(job);
    fetch(job, waiting);
  }
}

void JobImages::on_progress(const std::string& image, const std::string& words) {
  for (auto& [job, waiting] : waiting_) {
    if (waiting.options.image != image || waiting.again_at_ms) continue;
    waiting.untold = concat("image ", image, ": ", words);
    tell_progress(job, waiting);
  }
}

void JobImages::tell_progress(JobId job, Waiting& waiting) {
  if (waiting.untold.empty() || now_ms_() < waiting.told_ms + kProgressPauseMs) return;
  waiting.told_ms = now_ms_();
  agent_.note(job, std::exchange(waiting.untold, {}));
}

}  // namespace drover
