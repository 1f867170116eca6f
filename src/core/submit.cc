// Jobs begin, are reopened, are stopped, end, and are forgotten.
#include <algorithm>

#include "base/text.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {

void Core::on(Ticket ticket, const SubmitJob& command) {
  if (const auto known = volatile_.job_by_uuid.find(command.uuid); known != volatile_.job_by_uuid.end()) {
    return say(ticket, JobAccepted{known->second});  // the same submission, said again
  }
  if (command.total > kMostItems) {
    return refuse(ticket, ErrorCode::bad_input, concat("job ", command.name, " has more than ", kMostItems, " items"),
                  "split it into several jobs");
  }
  if (command.policy.max_tries == 0) {
    return refuse(ticket, ErrorCode::bad_input, concat("job ", command.name, " allows its items no try at all"));
  }
  const Queue* queue = durable_.find_queue(command.place.queue);
  if (queue == nullptr) {
    return refuse(
        ticket, ErrorCode::not_found, concat("there is no queue '", command.place.queue, "'"),
        concat("make it with 'drover queue set ", command.place.queue, "'; 'drover queue list' shows what there is"));
  }
  if (!queue->enabled) {
    return refuse(ticket, ErrorCode::conflict, concat("queue '", queue->name, "' is disabled"),
                  concat("'drover queue enable ", queue->name, "', or submit to another one"));
  }
  if (!check_dependencies(ticket, command)) return;
  Job job;
  job.id = JobId{durable_.counters.next_job++};
  job.uuid = command.uuid;
  job.name = command.name;
  job.definition = command.definition;
  job.manifest = command.manifest;
  job.total = command.total;
  job.created_ms = volatile_.now_ms;
  job.policy = command.policy;
  job.ask = command.ask.at_most(Resources::endless());
  job.require = command.require;
  job.place = command.place;
  job.place.priority = std::min(command.place.priority, kHighestPriority);
  if (queue->order == QueueOrder::fair && job.place.share.empty()) job.place.share = job.place.owner;
  job.after = command.after;
  job.sequential = command.sequential;
  job.max_running = command.max_running;
  job.job_timeout_ms = std::max<std::int64_t>(0, command.job_timeout_ms);
  job.named_definition = command.named_definition;
  if (job.sequential) {
    job.max_running = 1;
    job.policy.max_failures = 0;
  }
  changes_.counters();
  changes_.job(job.id);
  durable_.blocks.emplace(job.id, ItemBlocks(job.total));
  Job& kept = durable_.jobs.emplace(job.id, std::move(job)).first->second;
  volatile_.jobs[kept.id];
  volatile_.job_by_uuid[kept.uuid] = kept.id;
  for (const Dependency& it : kept.after) volatile_.named_by[it.job].insert(kept.id);
  note(EventKind::job_submitted, kept);
  take_place(kept);
  if (volatile_.jobs.at(kept.id).unmet > 0) kept.state = JobState::pending;
  say(ticket, JobAccepted{kept.id});
  // One that comes after a job which has failed already has failed with it.
  for (const Dependency& it : kept.after) {
    if (durable_.jobs.at(it.job).ended()) volatile_.just_ended.push_back(it.job);
  }
  reconsider(kept);
  end_if_done(kept);  // a job without items is done as it begins
}

// Only jobs that are there can be waited for, so no circle can come about.
bool Core::check_dependencies(Ticket ticket, const SubmitJob& command) {
  if (command.after.size() > kMostDependencies) {
    refuse(ticket, ErrorCode::bad_input,
           concat("job ", command.name, " comes after ", command.after.size(), " jobs; at most ", kMostDependencies,
                  " are possible"),
           "let some of them come after each other");
    return false;
  }
  for (const Dependency& it : command.after) {
    const Job* other = durable_.find_job(it.job);
    if (other == nullptr) {
      refuse(ticket, ErrorCode::not_found,
             concat("job ", command.name, " comes after job ", it.job.value, ", which is not known"),
             "'drover jobs' lists those that are");
      return false;
    }
    if (it.each && other->total != command.total) {
      refuse(ticket, ErrorCode::bad_input,
             concat("job ", command.name, " has ", command.total, " items and shall go item by item after job ",
                    other->name, ", which has ", other->total),
             "give it as many items, or let it come after the whole job");
      return false;
    }
  }
  return true;
}

// Its first item is handed out.
void Core::begin(Job& job) {
  job.started_ms = volatile_.now_ms;
  changes_.job(job.id);
  note(EventKind::job_started, job);
  if (job.job_timeout_ms > 0) volatile_.job_deadlines.insert({job.started_ms + job.job_timeout_ms, job.id});
}

void Core::on(Ticket ticket, const ReopenJob& command) {
  const auto found = durable_.jobs.find(command.job);
  if (found == durable_.jobs.end()) {
    return refuse(ticket, ErrorCode::not_found, concat("there is no job ", command.job.value));
  }
  Job& job = found->second;
  if (job.epoch != command.epoch) {
    return refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " was reopened meanwhile"), "read it again");
  }
  if (job.stop == StopCause::cancelled && !job.ended()) {
    return refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " is being cancelled"),
                  "wait until its running items have ended");
  }
  for (const SettledItem& settled : command.again) {
    if (settled.item.value >= job.total || durable_.blocks.at(job.id).get(settled.item) != ItemMark::ended) {
      return refuse(ticket, ErrorCode::conflict,
                    concat("item ", settled.item.value, " of job ", job.name, " has not failed or been cancelled"),
                    "name only items that ended without success");
    }
  }
  if (command.ask && !volatile_.jobs.at(job.id).grants.empty()) {
    return refuse(ticket, ErrorCode::conflict, concat("items of job ", job.name, " run with what it asks for now"),
                  "wait until they have ended, or cancel it first");
  }
  ++job.epoch;
  leave_place(job);
  if (command.policy) job.policy = *command.policy;
  if (command.ask) job.ask = command.ask->at_most(Resources::endless());
  if (job.sequential) job.policy.max_failures = 0;
  if (job.ended()) job.started_ms = 0;
  job.state = JobState::running;
  job.ended_ms = 0;
  take_place(job);
  for (const SettledItem& settled : command.again) take_up_again(job, settled);
  job.failed_before = job.failed;
  if (job.stop != StopCause::none) {
    job.stop = StopCause::none;
    job.reason.clear();
    volatile_.jobs.at(job.id).told_to_stop.clear();
  }
  if (volatile_.jobs.at(job.id).unmet > 0) job.state = JobState::pending;
  for (const Dependency& it : job.after) {
    const Job* other = durable_.find_job(it.job);
    if (other != nullptr && other->ended()) volatile_.just_ended.push_back(it.job);
  }
  changes_.job(job.id);
  note(EventKind::job_reopened, job);
  say(ticket, JobReopened{job.total - job.succeeded - job.failed - job.cancelled});
  if (std::ranges::any_of(job.after, [](const Dependency& it) { return !it.job && !it.each; })) {
    stop(job, StopCause::dependency, "a job that it comes after did not succeed, and is no longer known");
  }
  reconsider(job);
  end_if_done(job);
}

void Core::take_up_again(Job& job, const SettledItem& settled) {
  // An item named twice in one command is taken up once.
  if (durable_.blocks.at(job.id).get(settled.item) != ItemMark::ended) return;
  auto& counted = settled.state == AttemptState::cancelled ? job.cancelled : job.failed;
  if (counted == 0) return;
  --counted;
  changes_.unsettle(job.id, settled.item, settled.attempt);
  set_mark(job.id, settled.item, ItemMark::open);
  make_waiting(OpenItem{.job = job.id,
                        .item = settled.item,
                        .attempts = planted(Plant::reopening_forgets_count) ? 0 : settled.attempt.value},
               volatile_.now_ms);
}

void Core::on(Ticket ticket, const CancelJob& command) {
  const auto found = durable_.jobs.find(command.job);
  if (found == durable_.jobs.end()) {
    return refuse(ticket, ErrorCode::not_found, concat("there is no job ", command.job.value));
  }
  Job& job = found->second;
  const bool was_over = job.ended();
  if (!was_over) stop(job, StopCause::cancelled, command.reason);
  say(ticket, JobCancelled{was_over});
}

void Core::on(Ticket ticket, const ForgetJob& command) {
  const auto found = durable_.jobs.find(command.job);
  if (found == durable_.jobs.end()) {
    return refuse(ticket, ErrorCode::not_found, concat("there is no job ", command.job.value));
  }
  const Job& job = found->second;
  if (!job.ended() || job.ended_ms > command.ended_by_ms) {
    return refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " has not ended, or not long ago"));
  }
  if (const auto waiting = volatile_.dependents.find(job.id); waiting != volatile_.dependents.end()) {
    return refuse(ticket, ErrorCode::conflict,
                  concat("job ", durable_.jobs.at(*waiting->second.begin()).name, " comes after job ", job.name));
  }
  Account& account = durable_.accounts[job.place.owner];
  account.owner = job.place.owner;
  ++account.jobs;
  account.used += job.used;
  changes_.account(account.owner);
  note(EventKind::job_forgotten, job);
  // What waited for a retry when the job was stopped is still open.
  auto item = durable_.open_items.lower_bound({job.id, ItemIndex{0}});
  while (item != durable_.open_items.end() && item->first.first == job.id) {
    volatile_.delayed.erase({item->second.not_before_ms, job.id, item->first.second});
    item = durable_.open_items.erase(item);
  }
  forget_as_forerunner(job);
  volatile_.jobs.erase(job.id);
  volatile_.job_by_uuid.erase(job.uuid);
  durable_.blocks.erase(job.id);
  changes_.forget(job.id);
  durable_.jobs.erase(found);
  say(ticket, JobForgotten{});
}

// Those that come after it have ended, but could be reopened. Of one that succeeded nothing more need be known.
void Core::forget_as_forerunner(const Job& job) {
  for (const Dependency& it : job.after) {
    const auto named = volatile_.named_by.find(it.job);
    if (named == volatile_.named_by.end()) continue;
    named->second.erase(job.id);
    if (named->second.empty()) volatile_.named_by.erase(named);
  }
  const auto named = volatile_.named_by.find(job.id);
  if (named == volatile_.named_by.end()) return;
  for (const JobId id : named->second) {
    Job& other = job_at(id);
    std::erase_if(other.after,
                  [&](const Dependency& it) { return it.job == job.id && job.state == JobState::succeeded; });
    for (Dependency& it : other.after) {
      if (it.job == job.id) it.job = JobId{};
    }
    changes_.job(id);
  }
  volatile_.named_by.erase(named);
}

void Core::stop(Job& job, StopCause cause, std::string reason) {
  if (job.stop == cause) return;
  job.stop = cause;
  job.reason = std::move(reason);
  changes_.job(job.id);
  note(EventKind::job_stopping, job, job.reason);
  // A cancel after an early stop asks for more than workers were told.
  JobIndex& index = volatile_.jobs.at(job.id);
  index.told_to_stop.clear();
  for (const GrantId grant : index.grants) {
    const WorkerId worker = durable_.grants.at(grant).worker;
    volatile_.sessions.at(worker).stops_due = true;
    volatile_.to_tell.insert(worker);
  }
  reconsider(job);
  if (!planted(Plant::cancel_leaves_job_open)) end_if_done(job);
}

void Core::end_if_done(Job& job) {
  if (job.ended()) return;
  const bool all_settled = job.succeeded + job.failed + job.cancelled == job.total;
  // While a grant is there, somebody is about to hear of its last item.
  if (!volatile_.jobs.at(job.id).grants.empty() || (!all_settled && job.stop == StopCause::none)) return;
  if (job.state == JobState::pending && job.stop == StopCause::none)
    return;  // others come first, even if it has no items
  if (job.succeeded == job.total) {
    job.state = JobState::succeeded;  // whatever it was about to be stopped for
  } else {
    job.state = job.stop == StopCause::cancelled ? JobState::cancelled : JobState::failed;
  }
  leave_place(job);
  job.ended_ms = volatile_.now_ms;
  changes_.job(job.id);
  note(EventKind::job_ended, job, std::string(to_string(job.state)));
  volatile_.just_ended.push_back(job.id);
}

}  // namespace drover
