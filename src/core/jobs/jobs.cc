#include "core/jobs/jobs.h"

#include <algorithm>

#include "base/text.h"
#include "core/jobs/job_faults.h"
#include "core/record_hash.h"

namespace drover {
namespace {

// Jobs that began together may run out of time together.
constexpr std::size_t kStoppedAtOnce = 16;

}  // namespace

const Job* JobRecords::find_job(JobId id) const {
  const auto it = jobs.find(id);
  return it == jobs.end() ? nullptr : &it->second;
}

const OpenItem* JobRecords::find_open(JobId job, ItemIndex item) const {
  const auto it = open_items.find({job, item});
  return it == open_items.end() ? nullptr : &it->second;
}

const ItemBlocks* JobRecords::find_blocks(JobId job) const {
  const auto it = blocks.find(job);
  return it == blocks.end() ? nullptr : &it->second;
}

bool JobRecords::has_succeeded(JobId id, ItemIndex item) const {
  const Job* job = find_job(id);
  if (job == nullptr) return false;
  const ItemBlocks* known = find_blocks(id);
  return job->state == JobState::succeeded || (known != nullptr && known->get(item) == ItemMark::succeeded);
}

Result<void> JobRecords::restore(const PutJob& put) {
  if (put.job.total > kMostItems) return contradicts_itself(concat("job ", put.job.name, " has an impossible size"));
  if (!put.job.ended()) blocks.insert_or_assign(put.job.id, ItemBlocks(put.job.total));
  jobs.insert_or_assign(put.job.id, put.job);
  return {};
}

Result<void> JobRecords::restore(const PutBlock& put) {
  const Job* job = find_job(put.block.job);
  if (job != nullptr && job->state == JobState::succeeded) return {};
  const bool fits =
      job != nullptr &&
      blocks.try_emplace(job->id, job->total).first->second.decode(put.block.block, put.block.marks.value);
  if (fits) return {};
  return contradicts_itself(
      concat("block ", put.block.block, " of job ", put.block.job.value, " does not match its job"));
}

Result<void> JobRecords::restore(const PutOpenItem& put) {
  const Job* job = find_job(put.item.job);
  if (job == nullptr || put.item.item.value >= job->total) {
    return contradicts_itself(concat("open item ", put.item.item.value, " belongs to no job"));
  }
  open_items.insert_or_assign({put.item.job, put.item.item}, put.item);
  return {};
}

Result<void> JobRecords::restore(const PutAccount& put) {
  accounts.insert_or_assign(put.account.owner, put.account);
  return {};
}

void JobRecords::add_to(Hasher& hasher) const {
  for (const auto& [id, job] : jobs) add_record(hasher, job);
  for (const auto& [id, of_job] : blocks) {
    if (!jobs.at(id).ended()) of_job.hash(hasher);
  }
  for (const auto& [key, item] : open_items) add_record(hasher, item);
  for (const auto& [owner, account] : accounts) add_record(hasher, account);
}

void Jobs::load() {
  for (const auto& [id, job] : records_.jobs) {
    now_.jobs[id];
    places_.add(id);
    holders_->add(id);
    now_.job_by_uuid[job.uuid] = id;
    for (const Dependency& it : job.after) now_.named_by[it.job].insert(id);
  }
  for (const auto& [key, item] : records_.open_items) {
    if (!item.waiting()) continue;
    now_.delayed.insert({item.not_before_ms, item.job, item.item});
    ++now_.jobs.at(item.job).delayed;
  }
}

void Jobs::load_places() {
  for (auto& [id, job] : records_.jobs) {
    if (job.ended()) continue;
    take_place(job);
    reconsider(job);
    journal_.touch(id);
  }
  // Not all of those that come after it may have heard of a job's end.
  for (const auto& [id, dependents] : now_.dependents) {
    const Job* job = records_.find_job(id);
    if (job != nullptr && job->ended()) now_.just_ended.push_back({id});
  }
  wake_delayed();
}

// What is in a worker's hands and not named as running waits there: to people it is pending.
ItemCounts Jobs::counts(JobId id) const {
  const Job& job = at(id);
  ItemCounts counts{.succeeded = job.succeeded, .failed = job.failed, .cancelled = job.cancelled};
  const std::uint64_t left = job.total - job.succeeded - job.failed - job.cancelled;
  if (job.ended()) {
    counts.cancelled += left;
    return counts;
  }
  const Place& place = places_.at(id);
  counts.waiting = records_.blocks.at(id).count(ItemMark::open) - place.in_hands;
  counts.running = place.running;
  counts.pending = left - counts.waiting - counts.running;
  return counts;
}

void Jobs::stop_late_jobs() {
  for (std::size_t stopped = 0; stopped < kStoppedAtOnce; ++stopped) {
    const auto first = now_.job_deadlines.begin();
    if (first == now_.job_deadlines.end() || first->first > journal_.now_ms()) return;
    Job& job = job_at(first->second);
    now_.job_deadlines.erase(first);
    if (job.stop == StopCause::none || job.stop == StopCause::too_many_failures || job.stop == StopCause::withdrawn) {
      stop(job, StopCause::timed_out, concat("stopped: it ran longer than ", job.job_timeout_ms / 1000, " s"));
    }
  }
}

std::optional<std::int64_t> Jobs::next_deadline() const {
  std::optional<std::int64_t> soonest;
  if (!now_.delayed.empty()) soonest = std::get<0>(*now_.delayed.begin());
  if (!now_.shelter_ends.empty() && !injected(JobFault::shelter_without_end)) {
    const std::int64_t at_ms = std::get<0>(*now_.shelter_ends.begin());
    soonest = std::min(soonest.value_or(at_ms), at_ms);
  }
  if (!now_.job_deadlines.empty()) {
    const std::int64_t at_ms = now_.job_deadlines.begin()->first;
    soonest = std::min(soonest.value_or(at_ms), at_ms);
  }
  return soonest;
}

void Jobs::take_changes(std::vector<Mutation>& out) {
  for (const JobId id : jobs_.take()) {
    journal_.touch(id);
    out.emplace_back(PutJob{records_.jobs.at(id)});
  }
  for (const auto& [job, block] : blocks_.take()) {
    out.emplace_back(PutBlock{{job, block, Bytes{records_.blocks.at(job).encode(block)}}});
  }
  open_items_.take<PutOpenItem>(records_.open_items, out,
                                [](const auto& key) { return DeleteOpenItem{key.first, key.second}; });
  accounts_.take<PutAccount>(records_.accounts, out);
}

void Jobs::take_deletions(std::vector<Mutation>& out) {
  for (const JobId id : std::exchange(forgotten_, {})) out.emplace_back(DeleteJob{id});
}

}  // namespace drover
