// Jobs begin, are reopened, are stopped, end, and are forgotten.
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
  changes_.counters();
  changes_.job(job.id);
  durable_.blocks.emplace(job.id, ItemBlocks(job.total));
  Job& kept = durable_.jobs.emplace(job.id, std::move(job)).first->second;
  index_job(kept);
  say(ticket, JobAccepted{kept.id});
  end_if_done(kept);  // a job without items is done as it begins
}

void Core::index_job(const Job& job) {
  volatile_.jobs[job.id];
  volatile_.job_by_uuid[job.uuid] = job.id;
  if (!job.ended()) volatile_.runnable.insert(job.id);
  volatile_.work_turned_up = true;
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
  ++job.epoch;
  if (command.policy) job.policy = *command.policy;
  for (const SettledItem& settled : command.again) take_up_again(job, settled);
  job.failed_before = job.failed;
  if (job.stop != StopCause::none) {
    job.stop = StopCause::none;
    job.reason.clear();
    for (auto& [id, session] : volatile_.sessions) session.told_to_stop.erase(job.id);
  }
  job.state = JobState::running;
  job.ended_ms = 0;
  volatile_.runnable.insert(job.id);
  volatile_.work_turned_up = true;
  changes_.job(job.id);
  say(ticket, JobReopened{job.total - job.succeeded - job.failed - job.cancelled});
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
  // What waited for a retry when the job was stopped is still open.
  auto item = durable_.open_items.lower_bound({job.id, ItemIndex{0}});
  while (item != durable_.open_items.end() && item->first.first == job.id) {
    volatile_.delayed.erase({item->second.not_before_ms, job.id, item->first.second});
    item = durable_.open_items.erase(item);
  }
  for (auto& [id, session] : volatile_.sessions) session.told_to_stop.erase(job.id);
  volatile_.jobs.erase(job.id);
  volatile_.job_by_uuid.erase(job.uuid);
  durable_.blocks.erase(job.id);
  changes_.forget(job.id);
  durable_.jobs.erase(found);
  say(ticket, JobForgotten{});
}

void Core::stop(Job& job, StopCause cause, std::string reason) {
  if (job.stop == cause) return;
  job.stop = cause;
  job.reason = std::move(reason);
  changes_.job(job.id);
  // A cancel after an early stop asks for more than workers were told.
  for (auto& [id, session] : volatile_.sessions) session.told_to_stop.erase(job.id);
  volatile_.work_turned_up = true;
  if (!planted(Plant::cancel_leaves_job_open)) end_if_done(job);
}

void Core::end_if_done(Job& job) {
  if (job.ended()) return;
  const bool all_settled = job.succeeded + job.failed + job.cancelled == job.total;
  const bool stopped = job.stop != StopCause::none && volatile_.jobs.at(job.id).grants.empty();
  if (!all_settled && !stopped) return;
  if (job.succeeded == job.total) {
    job.state = JobState::succeeded;  // whatever it was about to be stopped for
  } else if (job.stop == StopCause::cancelled) {
    job.state = JobState::cancelled;
  } else if (job.stop == StopCause::too_many_failures || job.failed + job.cancelled > 0) {
    job.state = JobState::failed;
  } else {
    job.state = JobState::succeeded;
  }
  job.ended_ms = volatile_.now_ms;
  changes_.job(job.id);
  volatile_.runnable.erase(job.id);
}

}  // namespace drover
