// Settled items are run again: a few at once, very many page by page.
#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {
namespace {

// A retry reads on when fewer of its reopened items than this wait to be handed out.
constexpr std::size_t kReopenAhead = 4096;

}  // namespace

void Jobs::on(Ticket ticket, const ReopenJob& command) {
  const auto found = records_.jobs.find(command.job);
  if (found == records_.jobs.end()) {
    return journal_.refuse(ticket, ErrorCode::not_found, concat("job ", command.job.value, " not found"));
  }
  Job& job = found->second;
  if (job.epoch != command.epoch) {
    return journal_.refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " was reopened in the meantime"),
                           "read it again");
  }
  if (!job.stream.empty()) {
    return journal_.refuse(ticket, ErrorCode::conflict,
                           concat("items of job ", job.name, " are messages of stream '", job.stream,
                                  "', which receives failed ones again by itself"),
                           "submit another job on the stream");
  }
  if (is_cancel(job.stop) && !job.ended()) {
    return journal_.refuse(ticket, ErrorCode::conflict, concat("job ", job.name, " is being cancelled"),
                           "wait until its running items have ended");
  }
  if (command.again.size() > kReopenPage) {
    return journal_.refuse(ticket, ErrorCode::bad_input,
                           concat("cannot reopen more than ", kReopenPage, " items of job ", job.name, " at once"));
  }
  if (command.rest && job.reopening && *command.rest != *job.reopening) {
    return journal_.refuse(ticket, ErrorCode::conflict, concat("another retry of job ", job.name, " is in progress"),
                           "wait until its items have started, or cancel the job first");
  }
  if (lacks_marks(job)) return wait_for_marks(job.id, ticket, command);
  if (const auto other = lacking_marks(job.after)) return wait_for_marks(*other, ticket, command);
  for (const SettledItem& settled : command.again) {
    if (settled.item.value >= job.total || job.state == JobState::succeeded ||
        records_.blocks.at(job.id).get(settled.item) != ItemMark::ended) {
      return journal_.refuse(
          ticket, ErrorCode::conflict,
          concat("item ", settled.item.value, " of job ", job.name, " has neither failed nor been cancelled"),
          "list only items that failed or were cancelled");
    }
  }
  if (command.ask && holders_->hold_some(job.id)) {
    return journal_.refuse(ticket, ErrorCode::conflict,
                           concat("items of job ", job.name, " are running with its current resources"),
                           "wait until they have ended, or cancel the job first");
  }
  // Nothing of it could run again, and those that come after it may have begun.
  if (job.state == JobState::succeeded) return journal_.say(ticket, JobReopened{0});
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
    now_.jobs.at(job.id).page_asked = false;
  }
  if (job.stop != StopCause::none) {
    job.stop = StopCause::none;
    job.reason.clear();
    holders_->on_resumed(job.id);
  }
  if (now_.jobs.at(job.id).unmet > 0) job.state = JobState::pending;
  for (const Dependency& it : job.after) {
    const Job* other = records_.find_job(it.job);
    if (other != nullptr && other->ended()) now_.just_ended.push_back({it.job, JobId{job.id.value - 1}});
  }
  jobs_.add(job.id);
  journal_.note(EventKind::job_reopened, job);
  journal_.say(ticket, JobReopened{job.total - job.succeeded - job.failed - job.cancelled});
  if (std::ranges::any_of(job.after, [](const Dependency& it) { return !it.job && !it.each; })) {
    stop(job, StopCause::dependency, "a job that it depends on did not succeed and is no longer known");
  }
  reconsider(job);
  end_if_done(job);
}

void Jobs::take_up_again(Job& job, const SettledItem& settled) {
  // An item named twice in one command is taken up once.
  if (records_.blocks.at(job.id).get(settled.item) != ItemMark::ended) return;
  auto& counted = settled.state == AttemptState::cancelled ? job.cancelled : job.failed;
  if (counted == 0) return;
  --counted;
  // A failure from before the retry is not one that it has to answer for.
  if (settled.state != AttemptState::cancelled && job.failed_before > 0) --job.failed_before;
  journal_.write(UnsettleAttempt{job.id, settled.item, settled.attempt});
  set_mark(job.id, settled.item, ItemMark::open);
  put(OpenItem{.job = job.id,
               .item = settled.item,
               .attempts = injected(JobFault::reopening_forgets_count) ? 0 : settled.attempt.value,
               .not_before_ms = journal_.now_ms()});
  now_.jobs.at(job.id).ready.insert(settled.item);
}

// A retry goes on when few of the items that it reopened are left: however many there are, only some are in memory.
void Jobs::ask_for_page(const Job& job) {
  JobIndex& index = now_.jobs.at(job.id);
  if (!job.reopening || index.page_asked || index.ready.size() >= kReopenAhead) return;
  index.page_asked = true;
  journal_.say(Ticket{}, ReopenWanted{job.id, job.reopen_epoch, job.reopen_next, job.reopening});
}

void Jobs::on(Ticket ticket, const ReopenMore& command) {
  const auto found = records_.jobs.find(command.job);
  Job* job = found == records_.jobs.end() ? nullptr : &found->second;
  if (job == nullptr || !job->reopening || job->reopen_epoch != command.epoch || job->reopen_next != command.from) {
    return journal_.say(ticket, JobReopened{0});  // it was cancelled, or begun anew, while the page was read
  }
  DROVER_CHECK(command.again.size() <= kReopenPage && command.next >= command.from, "a page is not too long");
  now_.jobs.at(job->id).page_asked = false;
  for (const SettledItem& settled : command.again) take_up_again(*job, settled);
  job->reopen_next = command.next;
  if (command.next.value >= job->total) end_reopening(*job);
  jobs_.add(job->id);
  journal_.say(ticket, JobReopened{command.again.size()});
  reconsider(*job);
  end_if_done(*job);
}

// All items are reopened, or the job was stopped before.
void Jobs::end_reopening(Job& job) {
  job.reopening.reset();
  job.reopen_next = ItemIndex{};
  job.reopen_epoch = 0;
}

}  // namespace drover
