#include "worker/tag_resolver.h"

#include <algorithm>

namespace drover {
namespace {

constexpr std::size_t kResolverThreads = 4;
constexpr std::size_t kMostAsks = 16;
// Whoever has waited for so long for a turn has waited enough.
constexpr std::chrono::seconds kPatience{10};

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
  {
    const std::lock_guard lock(mutex_);
    const auto same = std::ranges::find(asks_, image, &Ask::image);
    if (same != asks_.end()) {
      same->waiting.push_back(std::move(resolved));
      return;
    }
    if (asks_.size() < kMostAsks && !is_stopped_) {
      asks_.push_back({image, std::chrono::steady_clock::now(), {}});
      asks_.back().waiting.push_back(std::move(resolved));
      wakes_.notify_one();
      return;
    }
  }
  resolved(fail(ErrorCode::in_use, "too many images are being looked up"));
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
    for (const Resolved& resolved : next.waiting) resolved(found);
  }
}

}  // namespace drover
