#include "server/job_board.h"

#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace {

constexpr std::size_t kShortestPrefix = 4;

bool matches(const std::string& wanted, std::string_view said) {
  return wanted.empty() || wanted == said;
}

}  // namespace

void JobBoard::put(JobView view) {
  const JobId id = view.job.id;
  // What a job is called never changes.
  if (const auto known = jobs_.find(id); known != jobs_.end()) {
    known->second = std::move(view);
    return;
  }
  by_uuid_[view.job.uuid.text()] = id;
  by_name_[view.job.name].insert(id);
  jobs_.emplace(id, std::move(view));
}

void JobBoard::take(const Effect& effect) {
  if (const auto* changed = std::get_if<JobChanged>(&effect)) {
    const std::scoped_lock lock(mutex_);
    put({changed->job, changed->counts, changed->in_hands});
  }
  if (const auto* gone = std::get_if<JobGone>(&effect)) {
    const std::scoped_lock lock(mutex_);
    const auto it = jobs_.find(gone->job);
    if (it == jobs_.end()) return;
    by_uuid_.erase(it->second.job.uuid.text());
    const auto named = by_name_.find(it->second.job.name);
    named->second.erase(gone->job);
    if (named->second.empty()) by_name_.erase(named);
    jobs_.erase(it);
  }
}

void JobBoard::know(const std::vector<Job>& jobs) {
  const std::scoped_lock lock(mutex_);
  for (const Job& job : jobs) {
    if (jobs_.contains(job.id)) continue;
    ItemCounts counts{.succeeded = job.succeeded, .failed = job.failed, .cancelled = job.cancelled};
    (job.ended() ? counts.cancelled : counts.pending) += job.total - job.succeeded - job.failed - job.cancelled;
    put({job, counts});
  }
}

std::vector<JobView> JobBoard::list(const JobFilter& filter) const {
  const std::scoped_lock lock(mutex_);
  std::vector<JobView> out;
  auto it = filter.before ? std::make_reverse_iterator(jobs_.lower_bound(filter.before)) : jobs_.rbegin();
  for (; it != jobs_.rend() && out.size() < filter.limit; ++it) {
    const Job& job = it->second.job;
    const bool wanted = matches(filter.state, to_string(job.state)) && matches(filter.name, job.name) &&
                        matches(filter.queue, job.place.queue) && matches(filter.owner, job.place.owner) &&
                        matches(filter.share, job.place.share);
    if (wanted && (!filter.suits || filter.suits(it->second))) out.push_back(it->second);
  }
  return out;
}

Result<JobView> JobBoard::find(const std::string& reference) const {
  const std::scoped_lock lock(mutex_);
  const auto first = by_uuid_.lower_bound(reference);
  if (first != by_uuid_.end() && first->first == reference) return jobs_.at(first->second);
  const auto begins_so = [&](auto it) { return it != by_uuid_.end() && it->first.starts_with(reference); };
  if (reference.size() >= kShortestPrefix && begins_so(first)) {
    if (begins_so(std::next(first))) {
      return fail(ErrorCode::conflict, concat("ambiguous job id '", utf8(reference), "'"),
                  "give more characters of the id");
    }
    return jobs_.at(first->second);
  }
  const auto named = by_name_.find(reference);
  if (named != by_name_.end()) return jobs_.at(*named->second.rbegin());
  return fail(ErrorCode::not_found, concat("job '", utf8(reference), "' not found"), "list jobs with 'drover jobs'");
}

void JobBoard::each(const std::function<void(const JobView&)>& take) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, view] : jobs_) take(view);
}

std::optional<Job> JobBoard::find(JobId id) const {
  const std::scoped_lock lock(mutex_);
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? std::nullopt : std::optional(it->second.job);
}

}  // namespace drover
