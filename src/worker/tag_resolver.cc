#include "worker/tag_resolver.h"

#include <algorithm>

namespace drover {
namespace {

constexpr std::size_t kResolverThreads = 4;
constexpr std::size_t kMostAsks = 16;
// Whoever has waited for so long for a turn has waited enough.
constexpr std::chrono::seconds kPatience{10};
// A registry that could not be asked is left alone for so long. What it said is not kept: a tag may be moved at any
// time.
constexpr std::chrono::seconds kFailureLasts{10};

}  // namespace

TagResolver::TagResolver(LookUp look_up) : look_up_(std::move(look_up)) {
  for (std::size_t i = 0; i < kResolverThreads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

void TagResolver::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    asks_.clear();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void TagResolver::resolve(const std::string& image, Resolved resolved) {
  Error why{ErrorCode::in_use, "too many images are being looked up", {}};
  {
    const std::lock_guard lock(mutex_);
    const auto failure = failures_.find(image);
    const bool is_away = failure != failures_.end() && std::chrono::steady_clock::now() < failure->second.until;
    if (is_away) why = failure->second.error;
    const auto same = std::ranges::find(asks_, image, &Ask::image);
    if (!is_away && same != asks_.end()) {
      same->waiting.push_back(std::move(resolved));
      return;
    }
    if (!is_away && asks_.size() < kMostAsks && !is_stopped_) {
      asks_.push_back({image, std::chrono::steady_clock::now(), {}});
      asks_.back().waiting.push_back(std::move(resolved));
      wakes_.notify_one();
      return;
    }
  }
  resolved(std::unexpected(std::move(why)));
}

void TagResolver::note(const std::string& image, const Result<std::string>& found) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(failures_, [&](const auto& it) { return it.second.until < now; });
  const bool is_away =
      !found && (found.error().code == ErrorCode::unreachable || found.error().code == ErrorCode::timeout);
  if (is_away) failures_[image] = {found.error(), now + kFailureLasts};
}

void TagResolver::run(const std::stop_token& stop) {
  while (true) {
    Ask next;
    {
      std::unique_lock lock(mutex_);
      if (!wakes_.wait(lock, stop, [&] { return !asks_.empty(); })) return;
      next = std::move(asks_.front());
      asks_.pop_front();
    }
    const bool is_late = std::chrono::steady_clock::now() - next.since > kPatience;
    const Result<std::string> found =
        is_late ? fail(ErrorCode::timeout, "too many images are being looked up") : look_up_(next.image, stop);
    if (stop.stop_requested()) return;
    if (!is_late) note(next.image, found);
    for (const Resolved& resolved : next.waiting) resolved(found);
  }
}

}  // namespace drover
