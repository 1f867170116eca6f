// A job's place among others: when it has one, and when it has something to hand out.
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {

// The job takes its place, with whatever of it is in workers' hands.
void Jobs::take_place(const Job& job) {
  if (places_.at(job.id).scheduled) return;
  places_.take_place(job);
  now_.runnable.insert(job.id);
  set_on_stream(job, true);
  for (const Dependency& it : job.after) now_.dependents[it.job].insert(job.id);
  count_item_dependent(job, true);
  if (job.job_timeout_ms > 0 && job.started_ms > 0) {
    now_.job_deadlines.insert({job.started_ms + job.job_timeout_ms, job.id});
  }
  count_unmet(job);
  holders_->each_holder(job.id, [&](WorkerId worker, std::uint64_t items) { places_.into_hands(job, worker, items); });
  // Nothing runs that is in nobody's hands; very many may wait.
  if (places_.at(job.id).in_hands > 0) {
    each_running(job.id, places_.at(job.id).in_hands,
                 [&](const Job& of, std::int64_t started_ms) { places_.begins_to_run(of, started_ms); });
  }
  places_.reorder(job.id);
}

// The opposite: it has ended, or is about to take another place.
void Jobs::leave_place(const Job& job) {
  const Place& place = places_.at(job.id);
  if (!place.scheduled) return;
  places_.set_offered(job.id, false);
  each_running(job.id, place.running,
               [&](const Job& of, std::int64_t started_ms) { places_.runs_no_more(of, started_ms); });
  holders_->each_holder(job.id, [&](WorkerId worker, std::uint64_t items) {
    for (std::uint64_t i = 0; i < items; ++i) places_.out_of_hands(job, worker, std::nullopt);
  });
  if (job.job_timeout_ms > 0) now_.job_deadlines.erase({job.started_ms + job.job_timeout_ms, job.id});
  for (const Dependency& it : job.after) {
    const auto dependents = now_.dependents.find(it.job);
    if (dependents == now_.dependents.end()) continue;
    dependents->second.erase(job.id);
    if (dependents->second.empty()) now_.dependents.erase(dependents);
  }
  count_item_dependent(job, false);
  now_.runnable.erase(job.id);
  set_on_stream(job, false);
  places_.leave_place(job);
}

void Jobs::each_running(JobId id, std::uint64_t count,
                        const std::function<void(const Job& job, std::int64_t started_ms)>& visit) const {
  auto item = records_.open_items.lower_bound({id, ItemIndex{0}});
  for (; count > 0 && item != records_.open_items.end() && item->first.first == id; ++item) {
    if (!item->second.counted) continue;
    visit(at(id), item->second.started_ms);
    --count;
  }
}

std::optional<std::string> Jobs::unended_job_in(const std::string& queue) const {
  const auto job = places_.any_job_in(queue);
  return job ? std::optional(at(*job).name) : std::nullopt;
}

void Jobs::before_queue_changes(const std::string& queue, bool forget_usage) {
  if (forget_usage) places_.forget_usage(queue);
  const std::set<JobId> jobs = places_.jobs_in(queue);
  leaving_.assign(jobs.begin(), jobs.end());
  for (const JobId id : leaving_) leave_place(at(id));
}

void Jobs::after_queue_changed(const Queue& queue, bool has_become_fair) {
  places_.set_lane(queue);
  for (const JobId id : std::exchange(leaving_, {})) {
    Job& job = job_at(id);
    if (has_become_fair && job.place.share.empty()) {
      job.place.share = job.place.owner;
      jobs_.add(id);
    }
    take_place(job);
    reconsider(job);
  }
}

// What a job may hand out right now, if its queue lets it.
bool Jobs::has_work(const Job& job) {
  const JobIndex& index = now_.jobs.at(job.id);
  if (job.max_running > 0 && places_.at(job.id).in_hands >= job.max_running) return false;
  const ItemBlocks& blocks = records_.blocks.at(job.id);
  if (job.sequential && job.reopening) return false;  // an earlier one may be among those yet to be reopened
  if (job.sequential && blocks.count(ItemMark::open) > 0) {
    const auto first = blocks.find(ItemMark::open, ItemIndex{0});
    return first && (index.ready.contains(*first) || index.sheltered.contains(*first));  // else an earlier one waits
  }
  if (!index.ready.empty() || !index.sheltered.empty()) return true;
  if (blocks.count(ItemMark::pending) == 0) {
    return !job.stream.empty() && job.total < kMostItems && messages_->has_ready(job.stream);
  }
  return !waits_for_items(job) || untouched(job, 1).second > 0;
}

// Whether spot machines are to be given nothing of it, although it has work.
bool Jobs::has_only_sheltered_work(const Job& job) {
  const JobIndex& index = now_.jobs.at(job.id);
  if (index.sheltered.empty()) return false;
  const ItemBlocks& blocks = records_.blocks.at(job.id);
  if (job.sequential) return blocks.find(ItemMark::open, ItemIndex{0}) == *index.sheltered.begin();
  if (!index.ready.empty()) return false;
  if (blocks.count(ItemMark::pending) == 0) return job.stream.empty() || !messages_->has_ready(job.stream);
  return waits_for_items(job) && untouched(job, 1).second == 0;
}

// The one place that decides whether a job is offered to those who look for work. To be called after whatever might
// change that.
void Jobs::reconsider(Job& job) {
  const Place& place = places_.at(job.id);
  if (!place.scheduled) return;
  const Queue* queue = catalog_.find_queue(job.place.queue);
  const bool is_served = queue == nullptr || queue->enabled || injected(JobFault::disabled_queue_served);
  const bool may = job.stop == StopCause::none && now_.jobs.at(job.id).unmet == 0 && is_served;
  const bool offers = may && has_work(job);
  places_.set_sheltered(job.id, offers && has_only_sheltered_work(job));
  if (offers != place.offered) places_.set_offered(job.id, offers);
  if (job.reopening) ask_for_page(job);
  if (may && !offers) end_if_starved(job);
}

}  // namespace drover
