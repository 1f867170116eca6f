// What a worker does with a lease: what its items are, and their job, come with it, or are asked for.
#include "base/text.h"
#include "worker/remote_worker.h"

namespace drover {

void RemoteWorker::take_lease(const Lease& lease, LeasedItems items) {
  for (std::uint64_t offset = 0; items.is_range && offset < lease.count; ++offset) {
    items.texts.push_back(std::to_string(items.first_number + static_cast<std::int64_t>(offset)));
  }
  for (std::uint64_t offset = 0; offset < lease.count; ++offset) {
    held_[{lease.grant, ItemIndex{lease.first.value + offset}}] = {
        lease.job, lease.attempt_of(offset), offset < items.texts.size() ? std::move(items.texts[offset]) : ""};
  }
  const KnownJob job = calls_->known(lease.job);
  if (job) learn(job);
  const std::uint64_t have = std::min<std::uint64_t>(items.texts.size(), lease.count);
  if (job && have == lease.count) return stage_lease(lease.job, lease.grant);
  // The poll has been answered, and the next one goes out: a slow line costs time, and no lease.
  agent_.hold_back(lease.grant);
  fetches_.add(lease.grant, {lease.job, ItemIndex{lease.first.value + have}, lease.count - have});
}

void RemoteWorker::fetch_missing() {
  for (const GrantId grant : fetches_.grants()) {
    const auto held = held_.lower_bound({grant, ItemIndex{0}});
    if (held != held_.end() && held->first.grant == grant) continue;
    agent_.on_ready(grant, now_ms());  // nothing of it is left to wait
    fetches_.remove(grant);
  }
  for (const auto& [grant, items] : fetches_.take_due(now_ms())) {
    calls_->work(items, [this, grant = grant](Result<LeasedWork> work) { on_fetched(grant, std::move(work)); });
  }
}

void RemoteWorker::on_fetched(GrantId grant, Result<LeasedWork> work) {
  if (!work && work.error().code != ErrorCode::damaged) {
    fetches_.on_failed(grant, now_ms());
    return problems_.say(ProblemNotices::About::items, work.error());
  }
  ItemRange* const found = fetches_.on_answered(grant);
  if (found == nullptr) return;
  ItemRange& left = *found;
  problems_.is_over(ProblemNotices::About::items);
  if (!work) {
    // It stays so. Where the job is known, the first text is what cannot be read, and those behind it may be.
    const std::string reason = concat("could not start: ", work.error().message);
    if (!calls_->known(left.job)) {
      for (auto it = held_.lower_bound({grant, ItemIndex{0}}); it != held_.end() && it->first.grant == grant; ++it) {
        agent_.on_unreadable(it->first, reason, now_ms());
      }
      left.count = 0;
    } else if (left.count > 0) {
      agent_.on_unreadable({grant, left.first}, reason, now_ms());
      left = {left.job, ItemIndex{left.first.value + 1}, left.count - 1};
    }
  } else {
    learn(work->job);
    for (std::size_t i = 0; i < work->texts.size(); ++i) {
      const auto held = held_.find({grant, ItemIndex{left.first.value + i}});
      if (held != held_.end()) held->second.text = std::move(work->texts[i]);
    }
    left = {left.job, ItemIndex{left.first.value + work->texts.size()}, left.count - work->texts.size()};
  }
  if (left.count > 0) return;
  const JobId job = left.job;
  fetches_.remove(grant);
  stage_lease(job, grant);
  agent_.on_ready(grant, now_ms());
}

}  // namespace drover
