// Jobs begin, are stopped, end, and are forgotten.
#include <algorithm>

#include "base/text.h"
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {

void Jobs::on(Ticket ticket, const SubmitJob& command) {
  if (const auto known = now_.job_by_uuid.find(command.uuid); known != now_.job_by_uuid.end()) {
    return journal_.say(ticket, JobAccepted{known->second});  // the same submission, said again
  }
  if (command.total > kMostItems) {
    return journal_.refuse(ticket, ErrorCode::bad_input,
                           concat("job ", command.name, " has more than ", kMostItems, " items"),
                           "split it into several jobs");
  }
  if (command.policy.max_tries == 0) {
    return journal_.refuse(ticket, ErrorCode::bad_input,
                           concat("job ", command.name, " must allow its items at least one attempt"));
  }
  const Queue* queue = catalog_.find_queue(command.place.queue);
  if (queue == nullptr) {
    return journal_.refuse(
        ticket, ErrorCode::not_found, concat("queue '", command.place.queue, "' not found"),
        concat("create it with 'drover queue set ", command.place.queue, "', or list queues with 'drover queue list'"));
  }
  if (!queue->enabled) {
    return journal_.refuse(ticket, ErrorCode::conflict, concat("queue '", queue->name, "' is disabled"),
                           concat("enable it with 'drover queue enable ", queue->name, "', or use another queue"));
  }
  if (queue->closed) {
    return journal_.refuse(ticket, ErrorCode::conflict,
                           concat("queue '", queue->name, "' is closed: it accepts no jobs"),
                           concat("reopen it with 'drover queue enable ", queue->name, "', or use another queue"));
  }
  if (!check_dependencies(ticket, command) || !check_stream(ticket, command)) return;
  if (const auto other = lacking_marks(command.after)) return wait_for_marks(*other, ticket, command);
  Job job{command};
  job.id = journal_.new_job();
  job.uuid = command.uuid;
  job.definition = command.definition;
  job.manifest = command.manifest;
  job.total = command.total;
  job.created_ms = journal_.now_ms();
  job.ask = command.ask.at_most(Resources::endless());
  job.place.priority = std::min(command.place.priority, kHighestPriority);
  if (queue->order == QueueOrder::fair && job.place.share.empty()) job.place.share = job.place.owner;
  job.job_timeout_ms = std::max<std::int64_t>(0, command.job_timeout_ms);
  job.spot.on_demand_after_ms = std::clamp<std::int64_t>(command.spot.on_demand_after_ms, 0, kLongestShelterMs);
  if (job.sequential) {
    job.max_running = 1;
    job.policy.max_failures = 0;
  }
  jobs_.add(job.id);
  records_.blocks.emplace(job.id, ItemBlocks(job.total));
  Job& kept = records_.jobs.emplace(job.id, std::move(job)).first->second;
  now_.jobs[kept.id];
  places_.add(kept.id);
  holders_->add(kept.id);
  now_.job_by_uuid[kept.uuid] = kept.id;
  for (const Dependency& it : kept.after) now_.named_by[it.job].insert(kept.id);
  journal_.note(EventKind::job_submitted, kept);
  take_place(kept);
  if (now_.jobs.at(kept.id).unmet > 0) kept.state = JobState::pending;
  journal_.say(ticket, JobAccepted{kept.id});
  // One that comes after a job which has failed already has failed with it.
  for (const Dependency& it : kept.after) {
    if (records_.jobs.at(it.job).ended()) now_.just_ended.push_back({it.job, JobId{kept.id.value - 1}});
  }
  reconsider(kept);
  end_if_done(kept);  // a job without items is done as it begins
}

// Only jobs that are there can be waited for, so no circle can come about.
bool Jobs::check_dependencies(Ticket ticket, const SubmitJob& command) {
  if (command.after.size() > kMostDependencies) {
    journal_.refuse(
        ticket, ErrorCode::bad_input,
        concat("job ", command.name, " depends on ", command.after.size(), " jobs; the limit is ", kMostDependencies),
        "make it depend on a job that depends on some of them");
    return false;
  }
  for (const Dependency& it : command.after) {
    const Job* other = records_.find_job(it.job);
    if (other == nullptr) {
      journal_.refuse(ticket, ErrorCode::not_found,
                      concat("job ", command.name, " depends on unknown job ", it.job.value),
                      "list jobs with 'drover jobs'");
      return false;
    }
    if (it.each && other->total != command.total) {
      journal_.refuse(ticket, ErrorCode::bad_input,
                      concat("job ", command.name, " has ", command.total, " items, but depends item by item on job ",
                             other->name, ", which has ", other->total),
                      "give it the same number of items, or make it depend on the whole job");
      return false;
    }
  }
  return true;
}

// Its first item is handed out.
void Jobs::begin(Job& job) {
  job.started_ms = journal_.now_ms();
  jobs_.add(job.id);
  journal_.note(EventKind::job_started, job);
  if (job.job_timeout_ms > 0) now_.job_deadlines.insert({job.started_ms + job.job_timeout_ms, job.id});
}

void Jobs::on(Ticket ticket, const CancelJob& command) {
  const auto found = records_.jobs.find(command.job);
  if (found == records_.jobs.end()) {
    return journal_.refuse(ticket, ErrorCode::not_found, concat("job ", command.job.value, " not found"));
  }
  Job& job = found->second;
  const bool was_over = job.ended();
  // What runs is being killed already.
  const bool spares_nobody = job.stop == StopCause::cancelled || job.stop == StopCause::timed_out;
  if (!was_over && !(command.spares_running && spares_nobody)) {
    stop(job, command.spares_running ? StopCause::withdrawn : StopCause::cancelled, command.reason);
  }
  journal_.say(ticket, JobCancelled{was_over});
}

void Jobs::on(Ticket ticket, const ForgetJob& command) {
  const auto found = records_.jobs.find(command.job);
  if (found == records_.jobs.end()) {
    return journal_.refuse(ticket, ErrorCode::not_found, concat("job ", command.job.value, " not found"));
  }
  const Job& job = found->second;
  if (!job.ended() || job.ended_ms > command.ended_by_ms) {
    return journal_.refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " has not ended, or ended recently"));
  }
  if (const auto waiting = now_.dependents.find(job.id); waiting != now_.dependents.end()) {
    return journal_.refuse(
        ticket, ErrorCode::conflict,
        concat("job ", records_.jobs.at(*waiting->second.begin()).name, " depends on job ", job.name));
  }
  Account& account = records_.accounts[job.place.owner];
  account.owner = job.place.owner;
  ++account.jobs;
  account.used += job.used;
  accounts_.add(account.owner);
  journal_.note(EventKind::job_forgotten, job);
  // What waited for a retry when the job was stopped is still open.
  auto item = records_.open_items.lower_bound({job.id, ItemIndex{0}});
  while (item != records_.open_items.end() && item->first.first == job.id) {
    const std::int64_t from_ms = item->second.not_before_ms;
    now_.delayed.erase({from_ms, job.id, item->first.second});
    now_.shelter_ends.erase({from_ms + job.spot.on_demand_after_ms, job.id, item->first.second});
    item = records_.open_items.erase(item);
  }
  forget_as_forerunner(job);
  now_.jobs.erase(job.id);
  places_.forget(job.id);
  holders_->forget(job.id);
  now_.job_by_uuid.erase(job.uuid);
  now_.maybe_unneeded.push_back(job.id);
  jobs_.drop(job.id);
  blocks_.drop_if([&](const auto& it) { return it.first == job.id; });
  open_items_.drop_if([&](const auto& it) { return it.first == job.id; });
  journal_.count_change();
  forgotten_.push_back(job.id);
  journal_.say(ticket, JobForgotten{job.name});
  records_.jobs.erase(found);
}

// Those that come after it have ended, but could be reopened. Of one that succeeded nothing more need be known.
void Jobs::forget_as_forerunner(const Job& job) {
  for (const Dependency& it : job.after) {
    const auto named = now_.named_by.find(it.job);
    if (named == now_.named_by.end()) continue;
    named->second.erase(job.id);
    if (named->second.empty()) now_.named_by.erase(named);
  }
  const auto named = now_.named_by.find(job.id);
  if (named == now_.named_by.end()) return;
  for (const JobId id : named->second) {
    Job& other = job_at(id);
    std::erase_if(other.after,
                  [&](const Dependency& it) { return it.job == job.id && job.state == JobState::succeeded; });
    for (Dependency& it : other.after) {
      if (it.job == job.id) it.job = JobId{};
    }
    jobs_.add(id);
  }
  now_.named_by.erase(named);
}

void Jobs::stop(Job& job, StopCause cause, std::string reason) {
  if (job.stop == cause) return;
  job.stop = cause;
  job.reason = std::move(reason);
  end_reopening(job);
  jobs_.add(job.id);
  journal_.note(EventKind::job_stopping, job, job.reason);
  // A cancel after an early stop asks for more than workers were told.
  holders_->on_stopped(job.id);
  reconsider(job);
  if (!injected(JobFault::cancel_leaves_job_open)) end_if_done(job);
}

void Jobs::end_if_done(Job& job) {
  if (job.ended()) return;
  const bool all_settled = is_all_settled(job);
  // While a grant is there, somebody is about to hear of its last item.
  if (holders_->hold_some(job.id) || (!all_settled && job.stop == StopCause::none)) return;
  if (job.state == JobState::pending && job.stop == StopCause::none)
    return;  // others come first, even if it has no items
  if (all_settled && job.succeeded == job.total) {
    job.state = JobState::succeeded;  // whatever it was about to be stopped for
  } else {
    job.state = is_cancel(job.stop) ? JobState::cancelled : JobState::failed;
  }
  leave_place(job);
  if (!job.stream.empty()) messages_->on_job_over(job.id);
  now_.maybe_unneeded.push_back(job.id);
  job.ended_ms = journal_.now_ms();
  jobs_.add(job.id);
  journal_.note(EventKind::job_ended, job, std::string(to_string(job.state)));
  if (now_.dependents.contains(job.id)) now_.just_ended.push_back({job.id});
}

}  // namespace drover
