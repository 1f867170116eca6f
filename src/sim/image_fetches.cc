#include "sim/image_fetches.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/script.h"

namespace drover::sim {
namespace {

// What waits for an image may go elsewhere meanwhile; somebody looks so often (worker/remote_worker.cc).
constexpr std::int64_t kLookMs = 1'000;
// A poll that was under way when it began to decline may bring some more, but not one after the other.
constexpr std::int64_t kDeclinedWithinMs = 20'000;
constexpr std::size_t kMostDeclined = 10;

}  // namespace

void ImageFetches::want(JobId job, const std::string& image) {
  if (ready_.contains(job)) return;
  switch (gate_.want(job, image, process_.clock_ms())) {
    case ImageGate::Want::fetch: return fetch(job, image);
    case ImageGate::Want::declined: return note_declined(job);
    case ImageGate::Want::waits: return;
  }
}

void ImageFetches::note_declined(JobId job) {
  const std::int64_t now_ms = process_.clock_ms();
  std::deque<std::int64_t>& at_ms = declined_at_ms_[job];
  at_ms.push_back(now_ms);
  while (at_ms.front() < now_ms - kDeclinedWithinMs) at_ms.pop_front();
  if (at_ms.size() > kMostDeclined) is_pressed_ = true;
}

void ImageFetches::fetch(JobId job, const std::string& image) {
  const std::uint64_t number = ++last_fetch_;
  fetches_[job] = number;
  const auto if_wanted = [this, job, number](const auto& what) {
    return [this, job, number, what] {
      const auto found = fetches_.find(job);
      if (found == fetches_.end() || found->second != number) return;
      what();
      process_.wake();
    };
  };
  const std::int64_t took_ms = process_.images.contains(image) ? 0 : process_.registry.fetch_ms();
  process_.later(took_ms / 2,
                 if_wanted([this, job, image] { process_.agent.note(job, concat(image, ": being fetched")); }));
  process_.later(took_ms, if_wanted([this, job, image] { on_fetched(job, image); }));
}

void ImageFetches::on_fetched(JobId job, const std::string& image) {
  fetches_.erase(job);
  const bool is_missing = image == image_name(kMissingImage);
  if (is_missing || (!process_.images.contains(image) && !process_.registry.answers())) {
    const bool lasts = is_missing || process_.fault == SeamFault::outage_taken_for_missing_image;
    return gate_.on_failed(job,
                           {.kind = lasts ? FetchFailure::Kind::lasting : FetchFailure::Kind::passing,
                            .reason = concat(image, ": the registry does not have it")},
                           process_.clock_ms());
  }
  process_.images.insert(image);
  ready_.insert(job);
  gate_.on_fetched(job, process_.clock_ms());
}

void ImageFetches::on_tick() {
  for (const JobId job : gate_.on_tick(process_.clock_ms())) fetches_.erase(job);
}

std::optional<std::int64_t> ImageFetches::next_deadline() const {
  const auto deadline = gate_.next_deadline();
  if (fetches_.empty()) return deadline;
  const std::int64_t look_ms = process_.clock_ms() + kLookMs;
  return deadline ? std::min(*deadline, look_ms) : look_ms;
}

}  // namespace drover::sim
