// Jobs begin, are reopened, are stopped, end, and are forgotten.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/core.h"
#include "core/plant.h"

namespace drover {
namespace {

// A retry reads on when fewer of its reopened items than this wait to be handed out.
constexpr std::size_t kReopenAhead = 4096;
constexpr std::size_t kMostGrantsTold = 256;  // grants of a stopped job whose workers are thought of at a time

}  // namespace

void Core::on(Ticket ticket, const SubmitJob& command) {
  if (const auto known = volatile_.job_by_uuid.find(command.uuid); known != volatile_.job_by_uuid.end()) {
    return say(ticket, JobAccepted{known->second});  // the same submission, said again
  }
  if (command.total > kMostItems) {
    return refuse(ticket, ErrorCode::bad_input, concat("job ", command.name, " has more than ", kMostItems, " items"),
                  "split it into several jobs");
  }
  if (command.policy.max_tries == 0) {
    return refuse(ticket, ErrorCode::bad_input,
                  concat("job ", command.name, " must allow its items at least one attempt"));
  }
  const Queue* queue = durable_.find_queue(command.place.queue);
  if (queue == nullptr) {
    return refuse(
        ticket, ErrorCode::not_found, concat("queue '", command.place.queue, "' not found"),
        concat("create it with 'drover queue set ", command.place.queue, "', or list queues with 'drover queue list'"));
  }
  if (!queue->enabled) {
    return refuse(ticket, ErrorCode::conflict, concat("queue '", queue->name, "' is disabled"),
                  concat("enable it with 'drover queue enable ", queue->name, "', or use another queue"));
  }
  if (!check_dependencies(ticket, command)) return;
  if (const auto other = lacking_marks(command.after)) return wait_for_marks(*other, ticket, command);
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
    if (durable_.jobs.at(it.job).ended()) volatile_.just_ended.push_back({it.job, JobId{kept.id.value - 1}});
  }
  reconsider(kept);
  end_if_done(kept);  // a job without items is done as it begins
}

// Only jobs that are there can be waited for, so no circle can come about.
bool Core::check_dependencies(Ticket ticket, const SubmitJob& command) {
  if (command.after.size() > kMostDependencies) {
    refuse(
        ticket, ErrorCode::bad_input,
        concat("job ", command.name, " depends on ", command.after.size(), " jobs; the limit is ", kMostDependencies),
        "make it depend on a job that depends on some of them");
    return false;
  }
  for (const Dependency& it : command.after) {
    const Job* other = durable_.find_job(it.job);
    if (other == nullptr) {
      refuse(ticket, ErrorCode::not_found, concat("job ", command.name, " depends on unknown job ", it.job.value),
             "list jobs with 'drover jobs'");
      return false;
    }
    if (it.each && other->total != command.total) {
      refuse(ticket, ErrorCode::bad_input,
             concat("job ", command.name, " has ", command.total, " items, but depends item by item on job ",
                    other->name, ", which has ", other->total),
             "give it the same number of items, or make it depend on the whole job");
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
    return refuse(ticket, ErrorCode::not_found, concat("job ", command.job.value, " not found"));
  }
  Job& job = found->second;
  if (job.epoch != command.epoch) {
    return refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " was reopened in the meantime"),
                  "read it again");
  }
  if (job.stop == StopCause::cancelled && !job.ended()) {
    return refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " is being cancelled"),
                  "wait until its running items have ended");
  }
  if (command.again.size() > kReopenPage) {
    return refuse(ticket, ErrorCode::bad_input,
                  concat("cannot reopen more than ", kReopenPage, " items of job ", job.name, " at once"));
  }
  if (command.rest && job.reopening && *command.rest != *job.reopening) {
    return refuse(ticket, ErrorCode::conflict, concat("another retry of job ", job.name, " is in progress"),
                  "wait until its items have started, or cancel the job first");
  }
  if (lacks_marks(job)) return wait_for_marks(job.id, ticket, command);
  if (const auto other = lacking_marks(job.after)) return wait_for_marks(*other, ticket, command);
  for (const SettledItem& settled : command.again) {
    if (settled.item.value >= job.total || job.state == JobState::succeeded ||
        durable_.blocks.at(job.id).get(settled.item) != ItemMark::ended) {
      return refuse(ticket, ErrorCode::conflict,
                    concat("item ", settled.item.value, " of job ", job.name, " has neither failed nor been cancelled"),
                    "list only items that failed or were cancelled");
    }
  }
  if (command.ask && !volatile_.jobs.at(job.id).grants.empty()) {
    return refuse(ticket, ErrorCode::conflict,
                  concat("items of job ", job.name, " are running with its current resources"),
                  "wait until they have ended, or cancel the job first");
  }
  // Nothing of it could run again, and those that come after it may have begun.
  if (job.state == JobState::succeeded) return say(ticket, JobReopened{0});
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
  if (command.rest && command.next.value < job.total) {
    job.reopening = command.rest;
    job.reopen_next = command.next;
    job.reopen_epoch = job.epoch;
    volatile_.jobs.at(job.id).page_asked = false;
  }
  if (job.stop != StopCause::none) {
    job.stop = StopCause::none;
    job.reason.clear();
    volatile_.jobs.at(job.id).told_to_stop.clear();
  }
  if (volatile_.jobs.at(job.id).unmet > 0) job.state = JobState::pending;
  for (const Dependency& it : job.after) {
    const Job* other = durable_.find_job(it.job);
    if (other != nullptr && other->ended()) volatile_.just_ended.push_back({it.job, JobId{job.id.value - 1}});
  }
  changes_.job(job.id);
  note(EventKind::job_reopened, job);
  say(ticket, JobReopened{job.total - job.succeeded - job.failed - job.cancelled});
  if (std::ranges::any_of(job.after, [](const Dependency& it) { return !it.job && !it.each; })) {
    stop(job, StopCause::dependency, "a job that it depends on did not succeed and is no longer known");
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
  // A failure from before the retry is not one that it has to answer for.
  if (settled.state != AttemptState::cancelled && job.failed_before > 0) --job.failed_before;
  changes_.unsettle(job.id, settled.item, settled.attempt);
  set_mark(job.id, settled.item, ItemMark::open);
  put(OpenItem{.job = job.id,
               .item = settled.item,
               .attempts = planted(Plant::reopening_forgets_count) ? 0 : settled.attempt.value,
               .not_before_ms = volatile_.now_ms});
  volatile_.jobs.at(job.id).ready.insert(settled.item);
}

// A retry goes on when few of the items that it reopened are left: however many there are, only some are in memory.
void Core::ask_for_page(const Job& job) {
  JobIndex& index = volatile_.jobs.at(job.id);
  if (!job.reopening || index.page_asked || index.ready.size() >= kReopenAhead) return;
  index.page_asked = true;
  say(Ticket{}, ReopenWanted{job.id, job.reopen_epoch, job.reopen_next, job.reopening});
}

void Core::on(Ticket ticket, const ReopenMore& command) {
  const auto found = durable_.jobs.find(command.job);
  Job* job = found == durable_.jobs.end() ? nullptr : &found->second;
  if (job == nullptr || !job->reopening || job->reopen_epoch != command.epoch || job->reopen_next != command.from) {
    return say(ticket, JobReopened{0});  // it was cancelled, or begun anew, while the page was read
  }
  DROVER_CHECK(command.again.size() <= kReopenPage && command.next >= command.from, "a page is not too long");
  volatile_.jobs.at(job->id).page_asked = false;
  for (const SettledItem& settled : command.again) take_up_again(*job, settled);
  job->reopen_next = command.next;
  if (command.next.value >= job->total) end_reopening(*job);
  changes_.job(job->id);
  say(ticket, JobReopened{command.again.size()});
  reconsider(*job);
  end_if_done(*job);
}

// All items are reopened, or the job was stopped before.
void Core::end_reopening(Job& job) {
  job.reopening.reset();
  job.reopen_next = ItemIndex{};
  job.reopen_epoch = 0;
}

void Core::on(Ticket ticket, const CancelJob& command) {
  const auto found = durable_.jobs.find(command.job);
  if (found == durable_.jobs.end()) {
    return refuse(ticket, ErrorCode::not_found, concat("job ", command.job.value, " not found"));
  }
  Job& job = found->second;
  const bool was_over = job.ended();
  if (!was_over) stop(job, StopCause::cancelled, command.reason);
  say(ticket, JobCancelled{was_over});
}

void Core::on(Ticket ticket, const ForgetJob& command) {
  const auto found = durable_.jobs.find(command.job);
  if (found == durable_.jobs.end()) {
    return refuse(ticket, ErrorCode::not_found, concat("job ", command.job.value, " not found"));
  }
  const Job& job = found->second;
  if (!job.ended() || job.ended_ms > command.ended_by_ms) {
    return refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " has not ended, or ended recently"));
  }
  if (const auto waiting = volatile_.dependents.find(job.id); waiting != volatile_.dependents.end()) {
    return refuse(ticket, ErrorCode::conflict,
                  concat("job ", durable_.jobs.at(*waiting->second.begin()).name, " depends on job ", job.name));
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
  volatile_.maybe_unneeded.push_back(job.id);
  changes_.forget(job.id);
  say(ticket, JobForgotten{job.name});
  durable_.jobs.erase(found);
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
  end_reopening(job);
  changes_.job(job.id);
  note(EventKind::job_stopping, job, job.reason);
  // A cancel after an early stop asks for more than workers were told.
  JobIndex& index = volatile_.jobs.at(job.id);
  index.told_to_stop.clear();
  if (!index.grants.empty()) volatile_.just_stopped.push_back({job.id});
  reconsider(job);
  if (!planted(Plant::cancel_leaves_job_open)) end_if_done(job);
}

// Some of a stopped job's workers now, the others with the next commands.
void Core::tell_workers_to_stop() {
  std::size_t left = kMostGrantsTold;
  while (!volatile_.just_stopped.empty() && left > 0) {
    StoppedJob& stopped = volatile_.just_stopped.back();
    const auto index = volatile_.jobs.find(stopped.id);
    const bool is_stopped = index != volatile_.jobs.end() && job_at(stopped.id).stop != StopCause::none;
    auto grant = is_stopped ? index->second.grants.upper_bound(stopped.told_up_to) : std::set<GrantId>::iterator();
    for (; is_stopped && grant != index->second.grants.end() && left > 0; ++grant, --left) {
      const WorkerId worker = durable_.grants.at(*grant).worker;
      volatile_.sessions.at(worker).stops_due = true;
      volatile_.to_tell.insert(worker);
      stopped.told_up_to = *grant;
    }
    if (!is_stopped || grant == index->second.grants.end()) volatile_.just_stopped.pop_back();
  }
}

void Core::end_if_done(Job& job) {
  if (job.ended()) return;
  const bool all_settled = !job.reopening && job.succeeded + job.failed + job.cancelled == job.total;
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
  volatile_.maybe_unneeded.push_back(job.id);
  job.ended_ms = volatile_.now_ms;
  changes_.job(job.id);
  note(EventKind::job_ended, job, std::string(to_string(job.state)));
  if (volatile_.dependents.contains(job.id)) volatile_.just_ended.push_back({job.id});
}

}  // namespace drover
