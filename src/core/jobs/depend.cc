// Jobs and items that come after others.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {
namespace {

constexpr std::size_t kMostJobsTold = 48;  // jobs that hear of another one's end at a time

}  // namespace

bool Jobs::waits_for_items(const Job& job) {
  return std::ranges::any_of(job.after, [](const Dependency& it) { return it.each; });
}

// Whether the items of the same number have succeeded. Of a job that is no longer known, and had not succeeded, none
// counts as such.
bool Jobs::is_unlocked(const Job& job, ItemIndex item) const {
  return std::ranges::all_of(job.after, [&](const Dependency& it) {
    if (!it.each || injected(JobFault::item_dependency_ignored)) return true;
    return records_.has_succeeded(it.job, item);
  });
}

void Jobs::count_unmet(const Job& job) {
  JobIndex& index = now_.jobs.at(job.id);
  index.unmet = 0;
  index.unlocked.clear();
  index.unlocked_from = 0;
  for (const Dependency& it : job.after) {
    const Job* other = records_.find_job(it.job);
    if (injected(JobFault::dependency_ignored)) continue;
    if (!it.each && (other == nullptr || other->state != JobState::succeeded)) ++index.unmet;
  }
}

// Something in the block may be handed out by now.
void Jobs::look_again(JobIndex& index, std::uint64_t block) {
  if (block < index.unlocked_from) index.unlocked.insert(block);
}

// Its items wait for items that will never succeed.
void Jobs::end_if_starved(Job& job) {
  if (!waits_for_items(job) || job.reopening || places_.at(job.id).in_hands > 0 ||
      records_.blocks.at(job.id).count(ItemMark::open) > 0)
    return;
  const std::uint64_t waiting = records_.blocks.at(job.id).count(ItemMark::pending);
  if (waiting == 0) return;
  std::string failed;
  for (const Dependency& it : job.after) {
    if (!it.each) continue;
    const Job* other = records_.find_job(it.job);
    if (other != nullptr && !other->ended()) return;
    if (other == nullptr || other->state != JobState::succeeded)
      failed = other == nullptr ? "(no longer known)" : other->name;
  }
  if (failed.empty()) return;
  stop(job, StopCause::dependency,
       concat(plural(waiting, "item"), waiting == 1 ? " waits" : " wait", " for items of job ", failed,
              " that did not succeed"));
}

// Those that come after a job hear of its end: some now, the others with the next commands.
void Jobs::tell_dependents() {
  std::size_t left = kMostJobsTold;
  while (!now_.just_ended.empty() && left > 0) {
    EndedJob ended = now_.just_ended.back();
    now_.just_ended.pop_back();
    for (; left > 0; --left) {
      // Whoever hears of it may end by it, and is then no longer among them.
      const auto found = now_.dependents.find(ended.id);
      const Job* job = records_.find_job(ended.id);
      if (found == now_.dependents.end() || job == nullptr || !job->ended()) break;
      const auto next = found->second.upper_bound(ended.told_up_to);
      if (next == found->second.end()) break;
      ended.told_up_to = *next;
      tell_dependent(job_at(*next), *job);
    }
    if (left == 0) now_.just_ended.push_back(ended);
  }
}

void Jobs::tell_dependent(Job& job, const Job& ended) {
  if (job.ended() || job.stop != StopCause::none) return;
  const bool wants_success =
      std::ranges::any_of(job.after, [&](const Dependency& it) { return it.job == ended.id && !it.each; });
  if (wants_success && ended.state != JobState::succeeded) {
    return stop(job, StopCause::dependency,
                concat("job ", ended.name, ", which it depends on, ",
                       to_string(ended.state) == "cancelled" ? "was cancelled" : "failed"));
  }
  if (wants_success) {
    count_unmet(job);
    if (job.state == JobState::pending && now_.jobs.at(job.id).unmet == 0) {
      job.state = JobState::running;
      jobs_.add(job.id);
      end_if_done(job);  // one without items
      if (job.ended()) return;
    }
  }
  reconsider(job);
}

// An item has succeeded: those that wait for it in other jobs may go.
void Jobs::unlock(const Job& job, ItemIndex item) {
  if (now_.jobs.at(job.id).item_dependents == 0) return;
  const auto found = now_.dependents.find(job.id);
  if (found == now_.dependents.end()) return;
  for (const JobId id : found->second) {
    Job& other = job_at(id);
    if (!std::ranges::any_of(other.after, [&](const Dependency& it) { return it.job == job.id && it.each; })) continue;
    look_again(now_.jobs.at(id), ItemBlocks::block_of(item));
    reconsider(other);
  }
}

}  // namespace drover
